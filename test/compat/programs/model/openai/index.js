import { readFileSync } from "node:fs";

/** A model whose answers come from a script: the file that SCRIPTED_ANSWERS names has one JSON value for each. */
export default class OpenAI {
  answers = readFileSync(process.env.SCRIPTED_ANSWERS, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  chat = { completions: { create: async ({ messages }) => completion(this.answers.shift(), messages) } };
}

function completion(answer, messages) {
  const last = messages.at(-1)?.content ?? "";
  const calls = (answer.calls ?? []).map(({ tool, arguments: given }, number) => ({
    id: `call-${number}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(given) },
  }));
  const message = {
    role: "assistant",
    content: answer.content?.replace("{{last}}", () => String(last)) ?? null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return { choices: [{ message, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] };
}
