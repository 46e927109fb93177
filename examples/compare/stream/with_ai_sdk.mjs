import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";

const server = createOpenAICompatible({ name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k", includeUsage: true });
const stream = streamText({ model: server("m"), prompt: "Tell me a story." });
let pieces = 0, text = "";
for await (const piece of stream.textStream) {
  text += piece;
  pieces += 1;
}
const usage = await stream.usage;
console.log(JSON.stringify({
  text, pieces, thinking: await stream.reasoningText, stop: await stream.finishReason, input: usage.inputTokens,
  cached: usage.inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens, output: usage.outputTokens,
}));
