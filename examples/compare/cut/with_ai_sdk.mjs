import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";

const server = createOpenAICompatible({ name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k" });
let text = "", error = null;
const stream = streamText({
  model: server("m"), prompt: "Tell me a story.",
  onError: (event) => { error = String(event.error); },
});
try {
  for await (const piece of stream.textStream) text += piece;
} catch (found) {
  error = String(found);
}
console.log(JSON.stringify({ text, error }));
