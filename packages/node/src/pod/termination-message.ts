import { open } from "node:fs/promises";
import type { Container } from "@agent-sandbox/api";
import { parseLogLine } from "../streams/log-line.ts";

/** Kubernetes' limits: for the message file, and for the part of the log that replaces it. */
const fileLimitBytes = 4096;
const logLimitBytes = 2048;
const logLimitLines = 80;

export interface MessageFiles {
  readonly message: string;
  readonly log: string;
}

/** The container's termination message. With FallbackToLogsOnError, a failed container without one gets the end of its log. */
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
  const printed = lines.flatMap((line) => parseLogLine(Buffer.from(line, "latin1")) ?? []);
  const text = printed.map(({ text: words, partial }) => `${words.toString()}${partial ? "" : "\n"}`).join("");
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
