import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const openai = createOpenAICompatible({ name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k" });
const anthropic = createAnthropic({ baseURL: process.env.BASE + "/v1", apiKey: "k" });
const tools = {
  lookup: tool({
    description: "Look a key up.", inputSchema: z.object({ key: z.string() }), execute: async ({ key }) => `found ${key}`,
  }),
};
const run = async (model, content) => {
  messages.push({ role: "user", content });
  const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  messages.push(...result.response.messages);
  return result.text;
};
const messages = [];
await run(anthropic("claude"), "Look up a and b.");
await run(openai("m"), "And now?");
console.log(JSON.stringify({ text: await run(anthropic("claude"), "Thank you.") }));
