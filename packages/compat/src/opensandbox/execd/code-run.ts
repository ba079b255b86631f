import { randomUUID } from "node:crypto";
import { objectField, textField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { type CodeEvent, runCode } from "../../runtime/run-code.ts";
import { defaultCodeContext, findCodeContext } from "./code-contexts.ts";
import type { ExecdCall } from "./context.ts";
import { EventWriter } from "./event-writer.ts";
import { invalidRequest, missingQuery, runtimeFailure } from "./execd-error.ts";
import { OutputLines } from "./output-lines.ts";

const maxCodeBytes = 4 * 1024 * 1024;

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** `POST /code`: runs code and streams what it prints and shows. It is interrupted when the client disconnects. */
export async function execute(call: ExecdCall): Promise<void> {
  const { context, target, request, response } = call;
  const body = await readJsonObject(request, maxCodeBytes);
  const code = textField(body, "code") ?? "";
  if (code === "") throw invalidRequest("code is required");
  const place = objectField(body, "context") ?? {};
  const wanted = textField(place, "id") || undefined;
  const { id: name, language } =
    wanted === undefined
      ? await defaultCodeContext(call, textField(place, "language") || undefined)
      : await findCodeContext(call, wanted);
  const id = randomUUID();
  using run = context.runningCode.add(target, id, name);
  const signal = AbortSignal.any([call.signal, run.signal]);
  const events = await runCode(context.runtime, target, { context: name, language, code, variables: {} }, signal);
  using writer = new EventWriter(response, call.signal, { pings: true });
  await writer.send({ type: "init", text: id });
  try {
    for await (const event of clientEvents(events)) await writer.send(event);
  } catch (error) {
    if (!run.signal.aborted) throw error;
    await writer.send(failure("KeyboardInterrupt", "The execution was interrupted", ""));
  }
  writer.end();
}

/** `DELETE /code?id=…`: interrupts code, by the id of its run or of its context. */
export async function interruptCode({ context, target, url, response }: ExecdCall): Promise<void> {
  const id = url.searchParams.get("id") ?? "";
  if (id === "") throw missingQuery("id");
  if (!context.runningCode.interrupt(target, id)) throw runtimeFailure(`No code runs with the id ${id.slice(0, 64)}`);
  sendJson(response, 200, null);
}

async function* clientEvents(events: AsyncIterable<CodeEvent>): AsyncGenerator<Event> {
  const begun = performance.now();
  const lines = { stdout: new OutputLines(), stderr: new OutputLines() };
  let hasFailed = false;
  for await (const event of events) {
    const { type } = event;
    if (type === "stdout" || type === "stderr") {
      for (const text of lines[type].push(Buffer.from(event.text ?? ""))) yield { type, text };
      continue;
    }
    // A line without an end is in front of what follows.
    for (const stream of ["stdout", "stderr"] as const) {
      for (const text of lines[stream].end()) yield { type: stream, text };
    }
    if (type === "error") {
      hasFailed = true;
      yield failure(event.name ?? "Error", event.message ?? "", event.traceback ?? "");
    } else if (type === "end") {
      // A run whose interpreter ended has no count.
      const { execution_count } = event;
      if (execution_count !== undefined) yield { type: "execution_count", execution_count };
      if (!hasFailed) yield { type: "execution_complete", execution_time: Math.round(performance.now() - begun) };
    } else {
      yield { type: "result", results: resultsOf(event.data ?? {}) };
    }
  }
}

function resultsOf(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { "text/plain": text, ...others } = data;
  return { ...(text !== undefined && { text }), ...others };
}

const failure = (ename: string, evalue: string, traceback: string): Event => ({
  type: "error",
  error: { ename, evalue, traceback: traceback === "" ? [] : traceback.split("\n") },
});
