import { setTimeout as sleep } from "node:timers/promises";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { callProcess, type ProcessInfo, streamProcess } from "../../runtime/process-calls.ts";
import { OpenSandboxError } from "../failure.ts";
import { readCommand } from "./command-request.ts";
import type { ExecdCall } from "./context.ts";
import { missingQuery, runtimeFailure } from "./execd-error.ts";
import { pathsOf } from "./paths.ts";
import { processVariables } from "./process-variables.ts";
import { streamToClient } from "./stream-process.ts";

const maxCommandBytes = 4 * 1024 * 1024;

/** `POST /command` */
export async function runCommand(call: ExecdCall): Promise<void> {
  const wanted = readCommand(await readJsonObject(call.request, maxCommandBytes));
  const { program, timeoutMs, user, background } = wanted;
  const paths = await pathsOf(call);
  await streamToClient(call, {
    commands: "script" in program ? shells(program.script) : [program.words],
    cwd: wanted.cwd === undefined ? paths.workFolder : paths.resolve(wanted.cwd),
    variables: await processVariables(call, wanted.variables),
    user,
    timeoutMs,
    background,
  });
}

/** Clients write for bash. An image without it has a shell that understands most of that. */
function shells(script: string): readonly (readonly string[])[] {
  return [
    ["bash", "-c", script],
    ["sh", "-c", script],
  ];
}

async function findProcess({ context, target, signal }: ExecdCall, id: string): Promise<ProcessInfo> {
  const { processes = [] } = await callProcess<{ processes?: ProcessInfo[] }>(
    context.runtime,
    target,
    "List",
    {},
    signal,
  );
  const found = processes.find(({ processId, origin }) => String(processId) === id && origin === "start");
  if (found === undefined) throw new OpenSandboxError(404, "FILE_NOT_FOUND", `Command ${id.slice(0, 64)} not found`);
  return found;
}

/** `GET /command/status/{id}`: of commands that run, and of commands in the background that ended. */
export async function commandStatus(call: ExecdCall, id: string): Promise<void> {
  const { command = [], exit, startedAt, endedAt } = await findProcess(call, id);
  sendJson(call.response, 200, {
    id,
    content: command.at(-1) ?? "",
    running: exit === undefined,
    started_at: startedAt,
    ...(exit !== undefined && { exit_code: exit.exitCode ?? 0, finished_at: endedAt }),
    ...(exit?.timedOut === true && { error: "the time limit has passed" }),
  });
}

/** `GET /command/{id}/logs`: output from a byte on. The daemon keeps the last 256 KiB of each command. */
export async function commandLogs(call: ExecdCall, id: string): Promise<void> {
  const { context, target, response, url } = call;
  const text = url.searchParams.get("cursor") ?? "0";
  const { processId, firstOffset = "0", nextOffset = "0" } = await findProcess(call, id);
  const end = Number(nextOffset);
  const from = Math.min(end, Math.max(/^\d{1,15}$/.test(text) ? Number(text) : 0, Number(firstOffset)));
  const pieces: Buffer[] = [];
  let [length, rest] = [0, end - from];
  const done = new AbortController();
  const signal = AbortSignal.any([call.signal, done.signal]);
  const attach = { processId, fromOffset: String(from) };
  if (rest > 0) {
    for await (const event of streamProcess(context.runtime, target, "Attach", attach, signal)) {
      const piece = Buffer.from(event.stdout ?? event.stderr ?? "", "base64").subarray(0, rest);
      pieces.push(piece);
      [length, rest] = [length + piece.length, rest - piece.length - Number(event.gap?.lostBytes ?? 0)];
      if (rest <= 0 || event.exit !== undefined) break;
    }
    done.abort();
  }
  response.writeHead(200, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": length,
    "execd-commands-tail-cursor": String(end),
  });
  response.end(Buffer.concat(pieces));
}

/** Between the request to end and the end by force. */
const graceMs = 3000;

/** `DELETE /command?id=`: ends a command, and answers when it has ended. */
export async function interruptCommand(call: ExecdCall): Promise<void> {
  const id = call.url.searchParams.get("id") ?? "";
  if (id === "") throw missingQuery("id");
  await endProcess(call, id);
  sendJson(call.response, 200, null);
}

async function endProcess(call: ExecdCall, id: string): Promise<void> {
  const { context, target } = call;
  const found = await findProcess(call, id).catch((error: unknown) => {
    if (error instanceof OpenSandboxError) throw runtimeFailure(error.message);
    throw error;
  });
  if (found.exit !== undefined) throw runtimeFailure(`Command ${id} has ended`);
  const { processId } = found;
  const send = (signal: string, scope: string): Promise<unknown> =>
    callProcess(context.runtime, target, "SendSignal", { processId, signal, scope });
  const ended = callProcess(context.runtime, target, "Wait", { processId }, call.signal).then(
    () => true,
    // One in the foreground is forgotten as soon as it has ended.
    () => true,
  );
  await send("SIGNAL_SIGTERM", "SIGNAL_SCOPE_UNSPECIFIED");
  if (await Promise.race([ended, sleep(graceMs, false)])) return;
  await send("SIGNAL_SIGKILL", "SIGNAL_SCOPE_TREE").catch(() => undefined);
  await ended;
}
