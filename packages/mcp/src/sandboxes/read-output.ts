import { type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import { callUnary, Deadline } from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { wholeStart } from "../results/bounded-output.ts";

export interface ReadOutput {
  readonly id: number;
  readonly from: number;
  readonly maxBytes: number;
  readonly waitMs: number;
}

export interface OutputPart {
  readonly text: string;
  /** The offset of the next byte. */
  readonly next: number;
  /** Absent while the process runs. -1 if a signal ended it. */
  readonly exitCode?: number;
  /** Output that is no longer kept. */
  readonly lostBytes: number;
}

interface WireProcess {
  readonly processId: number;
  readonly firstOffset?: string;
  readonly nextOffset?: string;
  readonly exit?: { readonly exitCode?: number };
}

const callMs = 60_000;
/** After the first output, how long to collect more that belongs to it. */
const settleMs = 150;

/** The kept output of a process from an offset on. If there is none, waits for some, or for the end of the process. */
export async function readOutput(
  call: Call,
  sandbox: Sandbox,
  { id, from, maxBytes, waitMs }: ReadOutput,
): Promise<OutputPart> {
  const before = await stateOf(call, sandbox, id);
  const first = Math.max(from, before.first);
  const lostBytes = first - from;
  const isRunning = before.exitCode === undefined;
  if (first >= before.next && (!isRunning || waitMs === 0)) {
    return { text: "", next: Math.max(from, before.next), lostBytes, ...exitOf(before) };
  }
  const process = await sandbox.commands.attach(id, { fromOffset: first, signal: call.signal });
  const pieces: Uint8Array[] = [];
  let size = 0;
  let timer = setTimeout(() => void process.disconnect(), first < before.next ? callMs : waitMs);
  let next = first;
  try {
    for await (const { bytes } of process.output()) {
      pieces.push(bytes);
      size += bytes.length;
      next = process.offset;
      if (size >= maxBytes) break;
      if (process.offset < before.next) continue;
      clearTimeout(timer);
      timer = setTimeout(() => void process.disconnect(), waitMs === 0 ? 0 : settleMs);
    }
  } catch (error) {
    call.signal.throwIfAborted();
    // Disconnecting ends the stream with this reason.
    if (!(error instanceof SandboxError) || error.reason !== "Conflict") throw error;
  } finally {
    clearTimeout(timer);
    await process.disconnect();
  }
  const after = await stateOf(call, sandbox, id);
  const all = Buffer.concat(pieces);
  const isComplete = next >= after.next && after.exitCode !== undefined;
  // The rest of a character that is cut comes with the next call.
  const whole = isComplete ? all : wholeStart(all);
  const text = new TextDecoder().decode(whole);
  return { text, next: next - (all.length - whole.length), lostBytes, ...(isComplete && exitOf(after)) };
}

function exitOf({ exitCode }: { readonly exitCode?: number }): { readonly exitCode?: number } {
  return exitCode === undefined ? {} : { exitCode };
}

async function stateOf(
  { caller, signal }: Call,
  { name, namespace, uid }: Sandbox,
  id: number,
): Promise<{ readonly first: number; readonly next: number; readonly exitCode?: number }> {
  const doing = `Cannot read process ${id}`;
  using deadline = new Deadline({ signal }, callMs, doing);
  const request = { doing, deadline, method: "List", message: {}, isRepeatable: true };
  const target = { name, namespace, uid };
  const { processes = [] } = await callUnary<{ processes?: readonly WireProcess[] }>(caller.router, target, request);
  const found = processes.find(({ processId }) => processId === id);
  if (found === undefined) {
    throw new SandboxError("NotFound", `${doing}: it does not exist, or it ended some time ago`);
  }
  const { firstOffset = "0", nextOffset = "0", exit } = found;
  const ended = exit && { exitCode: exit.exitCode ?? 0 };
  return { first: Number(firstOffset), next: Number(nextOffset), ...ended };
}
