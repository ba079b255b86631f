import type { Readable } from "node:stream";
import { hasCode, NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";
import { type Program, startProgram } from "./start-program.ts";

/** The Debian package of each program, for error messages. */
const packageByProgram: Readonly<Record<string, string>> = {
  runc: "runc",
  runsc: "runsc",
  conmon: "conmon",
  ip: "iproute2",
  nft: "nftables",
  mount: "mount",
  umount: "mount",
  find: "findutils",
  nice: "coreutils",
  rm: "coreutils",
  cp: "coreutils",
  sync: "coreutils",
  skopeo: "skopeo",
  prlimit: "util-linux",
  setpriv: "util-linux",
  unshare: "util-linux",
  nsenter: "util-linux",
};

export interface CommandOptions {
  readonly input?: string;
  /** The command is killed after this time. Default 30 s. */
  readonly timeoutMs?: number;
  /** Kills the command when aborted. */
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const outputLimit = 1024 * 1024;
const defaultTimeoutMs = 30_000;

/** Runs a program and returns its exit code and output. Throws only if it cannot start or times out. */
export async function tryCommand(
  program: string,
  args: readonly string[],
  { input, timeoutMs = defaultTimeoutMs, signal: stop }: CommandOptions = {},
): Promise<CommandResult> {
  const { pid, stdio, ended } = start(program, args, input !== undefined);
  const [stdin, stdout, stderr] = stdio;
  stdin?.end(input ?? "");
  const kill = (): void => signalProcess(pid, "SIGKILL");
  const timer = setTimeout(kill, timeoutMs);
  stop?.addEventListener("abort", kill, { once: true });
  try {
    const [{ code, signal }, ...said] = await Promise.all([ended, textOf(stdout), textOf(stderr)]);
    if (code !== undefined) return { code, stdout: said[0], stderr: said[1] };
    const words = `${program} ${args.join(" ")}`;
    throw new NodeError("NodeSetup", `Cannot finish "${words}": ended by ${signal} (limit ${timeoutMs} ms)`);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", kill);
  }
}

function start(program: string, args: readonly string[], hasInput: boolean): Program {
  try {
    return startProgram(program, args, { stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"] });
  } catch (error) {
    throw cannotRun(program, error);
  }
}

async function textOf(stream: Readable | undefined): Promise<string> {
  let text = "";
  for await (const part of stream?.setEncoding("utf8") ?? []) if (text.length < outputLimit) text += String(part);
  return text;
}

/** Like `tryCommand`, but throws the program's error output on a non-zero exit code. */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const result = await tryCommand(program, args, options);
  if (result.code !== 0) {
    const said = result.stderr.trim() || result.stdout.trim() || `exit code ${result.code}`;
    throw new NodeError("NodeSetup", `Cannot run "${program} ${args.join(" ")}": ${said}`);
  }
  return result.stdout;
}

export function cannotRun(program: string, cause: unknown): NodeError {
  if (!hasCode(cause, "ENOENT")) {
    return new NodeError(
      "NodeSetup",
      `Cannot run "${program}": ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  const base = program.slice(program.lastIndexOf("/") + 1);
  const from = packageByProgram[base];
  const hint = from === undefined ? "install it" : `install the Debian package "${from}"`;
  return new NodeError("NodeSetup", `Cannot run "${program}": not found; ${hint}`, { cause });
}
