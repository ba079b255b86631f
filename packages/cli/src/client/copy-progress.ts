import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { formatBytes } from "./format-amounts.ts";
import type { ProgressOutput } from "./progress.ts";
import type { CopyCount } from "./tar-copy.ts";

const nowhere: ProgressOutput = { write: () => true };

/** What the standard streams of this program are connected to. */
export interface StandardStreams {
  readonly stdinIsTerminal: boolean;
  readonly stdoutIsFile: boolean;
  readonly stderr: ProgressOutput;
}

export function standardStreams(): StandardStreams {
  return { stdinIsTerminal: isatty(0), stdoutIsFile: isFile(1), stderr: process.stderr };
}

/**
 * Where a copy shows its progress. Nowhere if that would mix with the data: with what a user types, or with what is printed, possibly
 * by the program at the other end of a pipe.
 */
export function progressOutput(from: string, to: string, streams: StandardStreams): ProgressOutput {
  const isMixed = (from === "-" && streams.stdinIsTerminal) || (to === "-" && !streams.stdoutIsFile);
  return isMixed ? nowhere : streams.stderr;
}

/** A stream contains no files. */
export function describeCount({ files, bytes }: Pick<CopyCount, "files" | "bytes">, isStream: boolean): string {
  const size = formatBytes(bytes);
  return isStream ? size : `${files} ${files === 1 ? "file" : "files"}, ${size}`;
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
