import { RpcError } from "../../connect/rpc-error.ts";
import type { ExitEvent, ProcessEvent } from "../../runtime/process-calls.ts";

/** The message of E2B for an event of sandboxd; undefined for events that E2B does not have. */
export function eventOf({ init, stdout, stderr, exit }: ProcessEvent, isTerminal: boolean): object | undefined {
  if (init !== undefined) return { event: { start: { pid: init.processId } } };
  if (stdout !== undefined) return { event: { data: isTerminal ? { pty: stdout } : { stdout } } };
  if (stderr !== undefined) return { event: { data: { stderr } } };
  return exit === undefined ? undefined : { event: { end: endOf(exit) } };
}

const signalNames: Readonly<Record<number, string>> = {
  1: "hangup",
  2: "interrupt",
  3: "quit",
  6: "aborted",
  9: "killed",
  11: "segmentation fault",
  13: "broken pipe",
  14: "alarm clock",
  15: "terminated",
};

/** Throws `deadline_exceeded` for a process that was killed at its time limit. */
export function endOf({ exitCode = 0, signal, timedOut }: ExitEvent): object {
  if (timedOut === true) throw new RpcError("deadline_exceeded", "the process was killed at its time limit");
  const isSignal = signal !== undefined && signal !== 0;
  const status = isSignal ? `signal: ${signalNames[signal] ?? signal}` : `exit status ${exitCode}`;
  const code = isSignal ? -1 : exitCode;
  return { exitCode: code, exited: !isSignal, status, ...(code !== 0 && { error: status }) };
}
