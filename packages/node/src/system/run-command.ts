import { spawn } from "node:child_process";
import { hasCode, NodeError } from "../errors.ts";

/** Which Debian package carries a program, for the error a person reads. */
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
  skopeo: "skopeo",
  prlimit: "util-linux",
  unshare: "util-linux",
};

export interface CommandOptions {
  readonly input?: string;
  /** The command is killed after this long. Default 30 s. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const outputLimit = 1024 * 1024;
const defaultTimeoutMs = 30_000;

/** Runs a program to its end and returns its exit code; throws only when it could not run or did not end in time. */
export function tryCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    const timeout = options.timeoutMs ?? defaultTimeoutMs;
    const timer = setTimeout(() => child.kill("SIGKILL"), timeout);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (stdout.length < outputLimit) stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < outputLimit) stderr += text;
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(cannotRun(program, error));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code !== null) resolve({ code, stdout, stderr });
      else
        reject(
          new NodeError(
            "NodeSetup",
            `Cannot finish "${program} ${args.join(" ")}": ended by ${signal} (limit ${timeout} ms)`,
          ),
        );
    });
    // A program that ends without reading its input is judged by its exit code.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}

/** Like `tryCommand`, but a non-zero exit code is an error that carries what the program said. */
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
