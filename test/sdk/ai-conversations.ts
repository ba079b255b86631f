/**
 * Lets scripted models use the tools for the Vercel AI SDK. Reads conversations from the standard input and prints what the models were
 * told. It is run in a folder with the built package: packages that `ai` needs have sources that Node cannot run under the
 * condition of our tests.
 */
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Sandbox } from "@agent-sandbox/sdk";
import { type SandboxToolsOptions, sandboxTools } from "@agent-sandbox/sdk/ai";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";

export interface Conversation {
  readonly sandbox: string;
  /** Tools and their inputs. The model calls one in each step. */
  readonly calls: readonly (readonly [tool: string, input: object])[];
  readonly options?: SandboxToolsOptions;
  /** The conversation is cancelled when this file exists. */
  readonly cancelAt?: string;
}

/** A model that calls the tools and then answers. */
export function scripted(calls: Conversation["calls"]): MockLanguageModelV4 {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  const shared = { usage: { inputTokens: tokens, outputTokens: tokens }, warnings: [] };
  const steps = calls.map(([toolName, input], index) => ({
    ...shared,
    content: [{ type: "tool-call" as const, toolCallId: `call-${index}`, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
  }));
  const last = {
    ...shared,
    content: [{ type: "text" as const, text: "done" }],
    finishReason: { unified: "stop" as const, raw: undefined },
  };
  return new MockLanguageModelV4({ doGenerate: [...steps, last] });
}

/** The outputs of the tools as the model got them, and its last answer. */
async function converse(sandbox: Sandbox, { calls, options, cancelAt }: Conversation): Promise<unknown[]> {
  const model = scripted(calls);
  const tools = sandboxTools(sandbox, options);
  const cancelling = new AbortController();
  const { signal: abortSignal } = cancelling;
  const answer = generateText({ model, tools, abortSignal, stopWhen: isStepCount(20), prompt: "Use the tools." });
  const outcome = answer.then(
    (result) => result.text,
    (error: unknown) => (abortSignal.aborted ? "cancelled" : String(error)),
  );
  if (cancelAt !== undefined) {
    while (!(await sandbox.files.exists(cancelAt))) await sleep(50);
    cancelling.abort();
  }
  const said = await outcome;
  const messages = model.doGenerateCalls.at(-1)?.prompt ?? [];
  const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  const outputs = results.map((part) => (part.type === "tool-result" ? part.output : part));
  return [...outputs.map((output) => ("value" in output ? output.value : output)), said];
}

if (import.meta.main) {
  using client = await connect();
  const conversations = JSON.parse(await text(process.stdin)) as Conversation[];
  const all: unknown[][] = [];
  for (const each of conversations) all.push(await converse(client.handle(each.sandbox), each));
  console.log(JSON.stringify(all));
}
