import { open } from "node:fs/promises";
import type { Container } from "@agent-sandbox/api";
import { parseLogLine } from "../streams/log-line.ts";

/** Kubernetes' bounds: of the file, and of what is taken from the log in its place. */
const fileLimitBytes = 4096;
const logLimitBytes = 2048;
const logLimitLines = 80;

export interface MessageFiles {
  readonly message: string;
  readonly log: string;
}

/** What a container left as its last words, or when it failed without, and the Pod wants it, the end of its log. */
export async function terminationMessage(
  container: Container,
  files: MessageFiles,
  exitCode: number,
): Promise<string | undefined> {
  const written = (await readPart(files.message, fileLimitBytes, "start"))?.toString();
  if (written) return written;
  if (container.terminationMessagePolicy !== "FallbackToLogsOnError" || exitCode === 0) return undefined;
  const end = await readPart(files.log, 64 * 1024, "end");
  const lines = (end?.toString("latin1") ?? "").split("\n").slice(0, -1).slice(-logLimitLines);
  const said = lines.flatMap((line) => parseLogLine(Buffer.from(line, "latin1")) ?? []);
  const text = said.map(({ text: words, partial }) => `${words.toString()}${partial ? "" : "\n"}`).join("");
  return Buffer.from(text).subarray(-logLimitBytes).toString() || undefined;
}

async function readPart(path: string, most: number, from: "start" | "end"): Promise<Buffer | undefined> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const length = Math.min(size, most);
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(length),
      0,
      length,
      from === "start" ? 0 : size - length,
    );
    return buffer.subarray(0, bytesRead);
  } catch {
    return undefined;
  }
}
