import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output } from "ai";
import { z } from "zod";

const server = createOpenAICompatible({
  name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k", supportsStructuredOutputs: true,
});
const Verdict = z.object({ score: z.number().int(), reason: z.string(), tags: z.array(z.string()).nullable().optional() });
const { output } = await generateText({
  model: server("m"), prompt: "Judge this text.", output: Output.object({ schema: Verdict }),
});
console.log(JSON.stringify({ score: output.score, reason: output.reason, tags: output.tags ?? null }));
