import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const server = createOpenAICompatible({ name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k" });
const prompts = Array.from({ length: 500 }, (_, n) => `question ${n}`);
const results = [];
let next = 0;
const worker = async () => {
  while (next < prompts.length) {
    const place = next++;
    try {
      results[place] = await generateText({ model: server("gpt-4o-mini"), prompt: prompts[place] });
    } catch {
      results[place] = null;
    }
  }
};
await Promise.all(Array.from({ length: 20 }, worker));
const good = results.filter(Boolean);
console.log(JSON.stringify({
  done: good.length, in_order: results.every((result, n) => result?.text === prompts[n].toUpperCase()),
  tokens: good.reduce((sum, result) => sum + result.usage.totalTokens, 0), cost: null,
}));
