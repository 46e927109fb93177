import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const server = createOpenAICompatible({ name: "local", baseURL: process.env.BASE + "/v1", apiKey: "k" });
const ran = [];
const tools = {
  weather: tool({
    description: "The weather of a city.", inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => { ran.push("weather"); return `${city}: rain`; },
  }),
  delete_file: tool({
    description: "Delete a file.", inputSchema: z.object({ path: z.string() }), needsApproval: true,
    execute: async () => { ran.push("delete_file"); return "deleted"; },
  }),
};
const messages = [{ role: "user", content: "Look at the weather, then delete /etc/hosts." }];
let result;
for (;;) {
  result = await generateText({ model: server("m"), tools, messages, stopWhen: stepCountIs(5) });
  messages.push(...result.response.messages);
  const asked = result.content.filter((part) => part.type === "tool-approval-request");
  if (asked.length === 0) break;
  messages.push({
    role: "tool",
    content: asked.map((part) => ({ type: "tool-approval-response", approvalId: part.approvalId, approved: false, reason: "no" })),
  });
}
console.log(JSON.stringify({ text: result.text, ran }));
