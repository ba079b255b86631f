import { type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import type { Call } from "../caller.ts";

export interface Grep {
  readonly folder: string;
  /** For names of files. */
  readonly pattern?: string | undefined;
  readonly text: string;
  readonly regex: boolean;
  readonly ignoreCase: boolean;
  readonly timeoutSeconds: number;
}

export interface FoundLine {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const longestText = 500;
/** A line of a file may be as long as the file. */
const longestRecord = 65_536;

/** Lines with a text, found by the sandbox's own `grep`. Its output is read only as far as the caller iterates. */
export async function* grep(call: Call, sandbox: Sandbox, wanted: Grep): AsyncGenerator<FoundLine> {
  const { folder, pattern, text, regex, ignoreCase, timeoutSeconds } = wanted;
  const flags = ["-r", "-n", "-H", "-I", "-s", "--null", regex ? "-E" : "-F", ...(ignoreCase ? ["-i"] : [])];
  const names = pattern === undefined ? [] : [`--include=${pattern}`];
  // No shell sees the arguments, and what follows `--` is not an option.
  const command = ["grep", ...flags, ...names, "-e", text, "--", folder];
  const doing = "Cannot search the files";
  const signal = call.signal;
  await using process = await sandbox.commands.start(command, { timeoutMs: timeoutSeconds * 1000, signal });
  let rest = "";
  let problem = "";
  for await (const { stream, text: piece } of process.output()) {
    if (stream === "stderr") {
      problem = (problem + piece).slice(0, longestText);
      continue;
    }
    const records = (rest + piece).split("\n");
    rest = (records.pop() ?? "").slice(0, longestRecord);
    for (const record of records) yield* parse(record);
  }
  const { exitCode, timedOut } = await process.wait({ signal });
  if (timedOut)
    throw new SandboxError(
      "TimedOut",
      `${doing}: it took longer than ${timeoutSeconds} seconds; search a smaller directory`,
    );
  // 1 means that nothing was found. With 2, some files could not be read, or the expression is not valid.
  if (exitCode > 2 || exitCode < 0 || (exitCode === 2 && problem !== "")) {
    throw new SandboxError("InvalidArgument", `${doing}: ${problem.trim() || `grep ended with status ${exitCode}`}`);
  }
}

/** `path NUL number:text` */
function* parse(record: string): Generator<FoundLine> {
  const end = record.indexOf("\0");
  const colon = record.indexOf(":", end);
  const line = Number(record.slice(end + 1, colon));
  if (end === -1 || colon === -1 || !Number.isInteger(line)) return;
  yield { path: record.slice(0, end), line, text: record.slice(colon + 1, colon + 1 + longestText) };
}
