import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { handleUniversalStreamRequest, translateBetweenProviders } from "llm-bridge";

const NAMES = { "anthropic-messages": "anthropic", "openai-chat": "openai", "openai-responses": "openai-responses", gemini: "google" };
const VERBS = {
  request: (task) => translateBetweenProviders(NAMES[task.source], NAMES[task.target], task.body),
  stream: async (task) => {
    const written = handleUniversalStreamRequest(new Blob([task.body]).stream(), NAMES[task.source], NAMES[task.target]);
    return new Response(written).text();
  },
};

const { version } = JSON.parse(readFileSync(new URL("node_modules/llm-bridge/package.json", import.meta.url)));
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
console.log = console.warn = console.error = () => {};
say({ version: `llm-bridge ${version}` });
for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  try {
    say({ body: await VERBS[task.verb](task), told: [] });
  } catch (error) {
    say(/^Unsupported/.test(error.message) ? { refused: error.message } : { error: `${error.name}: ${error.message}`.slice(0, 300) });
  }
}
