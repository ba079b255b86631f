/** One entry of a container's log: a line, or a part of a line that was too long or incomplete. */
export interface LogEntry {
  /** RFC 3339 with nanoseconds. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  /** The line continues in the next entry of the same stream. */
  readonly partial: boolean;
  readonly text: Buffer;
}

const space = 0x20;

/** Parses `<time> stdout|stderr F|P <text>`, the CRI log format. Returns undefined for anything else. */
export function parseLogLine(line: Buffer): LogEntry | undefined {
  const afterTime = line.indexOf(space);
  const afterStream = line.indexOf(space, afterTime + 1);
  const afterTag = line.indexOf(space, afterStream + 1);
  if (afterTime < 0 || afterStream < 0 || afterTag < 0) return undefined;
  const stream = line.toString("latin1", afterTime + 1, afterStream);
  const tag = line.toString("latin1", afterStream + 1, afterTag);
  if ((stream !== "stdout" && stream !== "stderr") || (tag !== "F" && tag !== "P")) return undefined;
  const time = line.toString("latin1", 0, afterTime).replace(/\+00:00$/, "Z");
  return { time, stream, partial: tag === "P", text: line.subarray(afterTag + 1) };
}
