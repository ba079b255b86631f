import type { Readable, Writable } from "node:stream";
import type { WebSocket } from "ws";
import { CommandError } from "../command-error.ts";

/** The channels of Kubernetes' `v5.channel.k8s.io` protocol: the first byte of each message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

export const execProtocol = "v5.channel.k8s.io";

export interface ExecStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Whether a message carries output of the command. */
export function isOutput(message: Buffer): boolean {
  return message.length > 1 && (message[0] === channels.stdout || message[0] === channels.stderr);
}

/** Copies data between local streams and a remote command until it exits. Returns the exit code of the command. */
export async function runExec(socket: WebSocket, streams: ExecStreams): Promise<number> {
  const stopStdin = streams.stdin === undefined ? () => undefined : sendStdin(socket, streams.stdin);
  let answer: ExecStatus | undefined;
  socket.on("message", (data: Buffer) => {
    const payload = data.subarray(1);
    if (data[0] === channels.stdout) receive(socket, streams.stdout, payload);
    else if (data[0] === channels.stderr) receive(socket, streams.stderr, payload);
    else if (data[0] === channels.status) answer = JSON.parse(payload.toString("utf8")) as ExecStatus;
  });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("close", resolve);
      socket.once("error", reject);
    });
  } finally {
    stopStdin();
  }
  if (answer === undefined) throw new CommandError("The connection to the sandbox was lost before the command exited");
  return exitCodeOf(answer);
}

export function sendResize(socket: WebSocket, columns: number, rows: number): void {
  const size = Buffer.from(JSON.stringify({ Width: columns, Height: rows }));
  if (socket.readyState === socket.OPEN) socket.send(Buffer.concat([Buffer.of(channels.resize), size]));
}

/** Pauses the connection while the local reader is slow, to bound memory. */
function receive(socket: WebSocket, output: Writable, payload: Buffer): void {
  if (payload.length === 0 || output.write(payload)) return;
  socket.pause();
  output.once("drain", () => socket.resume());
}

function sendStdin(socket: WebSocket, stdin: Readable): () => void {
  const onData = (chunk: Buffer) => {
    stdin.pause();
    socket.send(Buffer.concat([Buffer.of(channels.stdin), chunk]), () => stdin.resume());
  };
  const onEnd = () => socket.send(Buffer.of(channels.close, channels.stdin));
  stdin.on("data", onData).once("end", onEnd);
  return () => {
    stdin.off("data", onData).off("end", onEnd).pause();
  };
}

/** The `Status` at the end of an exec: success, the exit code of the command, or the reason why it did not start. */
export interface ExecStatus {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

export function exitCodeOf(answer: ExecStatus): number {
  if (answer.status === "Success") return 0;
  const cause = answer.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const code = Number.parseInt(cause?.message ?? "", 10);
  if (answer.reason === "NonZeroExitCode" && Number.isInteger(code)) return code;
  const { message = "The command could not run" } = answer;
  throw new CommandError(message, { exitCode: startFailureCode(message) });
}

/** The codes of shells for a program that does not exist, and for one that cannot run. */
export const missingProgramCode = 127;
const unusableProgramCode = 126;

/** The exit code for the message of a command that did not start. */
export function startFailureCode(message: string): number {
  if (/executable file not found|error finding executable|no such file or directory/i.test(message))
    return missingProgramCode;
  return /permission denied|exec format error/i.test(message) ? unusableProgramCode : 1;
}
