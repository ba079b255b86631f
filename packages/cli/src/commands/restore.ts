import { accessSync, closeSync, constants, existsSync, openSync, readSync, statfsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { restoreFolder } from "@agent-sandbox/apiserver";
import { startInBackground, stopBox } from "../box/background.ts";
import { type BoxPaths, boxPaths, dataDirFrom } from "../box/box-paths.ts";
import { findRunningBox, type RunningBox } from "../box/running-box.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { formatBytes } from "../client/format-amounts.ts";
import { SignalForwarder } from "../client/signals.ts";
import { CommandError } from "../command-error.ts";
import { reasonOf } from "../report-failure.ts";

/** Enough for running reconciles to finish. */
const patienceMs = 30_000;

export interface BoxSwitch {
  stop(paths: BoxPaths, box: RunningBox): Promise<void>;
  start(paths: BoxPaths, words: readonly string[]): Promise<unknown>;
}

const ownSwitch: BoxSwitch = {
  stop: (paths, box) => stopBox(paths, box, patienceMs),
  start: (paths, words) => startInBackground(paths, words, { ignoresSignals: true }),
};

/**
 * Replaces the objects and keys of a box by a backup. Stops a running box, and starts it again even if the restore fails. A signal ends
 * the restore only while nothing is replaced, and a box that was stopped is started first.
 */
export async function restore(file: string, options: GlobalOptions, box: BoxSwitch = ownSwitch): Promise<void> {
  await using signals = new SignalForwarder();
  const { interrupted } = signals;
  const paths = boxPaths(dataDirFrom(options.dataDir, process.env));
  // Check the file before stopping the box or creating a folder.
  mustBeReadable(resolve(file));
  mustHaveSpace(paths, resolve(file));
  const running = findRunningBox(paths);
  if (running === undefined) return await restoreInto(paths, file, interrupted);
  const { pid, words } = running;
  if (words === undefined) {
    throw new CommandError(
      `Cannot restore "${paths.dataDir}": the box is running in the foreground (process ${pid}); stop it first`,
    );
  }
  await box.stop(paths, running);
  const failure = await restoreInto(paths, file, interrupted).catch((error: unknown) => error);
  await startAgain(box, { paths, words, failure });
  console.log("The box is running again");
  if (failure !== undefined) throw failure;
}

/** If the box does not start, for instance on a full disk, the user must also learn why the restore failed. */
async function startAgain(
  box: BoxSwitch,
  { paths, words, failure }: { readonly paths: BoxPaths; readonly words: readonly string[]; readonly failure: unknown },
): Promise<void> {
  try {
    await box.start(paths, words);
  } catch (error) {
    if (failure === undefined) throw error;
    const why = `${reasonOf(failure)}. The box is stopped now: ${reasonOf(error)}`;
    throw new CommandError(why, { cause: failure });
  }
}

function mustBeReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    const why = getSystemErrorMessage((error as { readonly errno: number }).errno);
    throw new CommandError(`Cannot read backup "${file}": ${why}`, { cause: error });
  }
}

/** A running box is not stopped for a restore that would fail, because on a full disk it might not start again. */
function mustHaveSpace({ dataDir }: BoxPaths, file: string): void {
  if (!existsSync(dataDir)) return;
  const needed = writtenAtOnce * unpackedSize(file) + spareBytes;
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  if (free >= needed) return;
  throw new CommandError(
    `Cannot restore into "${dataDir}": no space left on device: the restore needs ${formatBytes(needed)}, and ${formatBytes(free)} are free`,
  );
}

/** The unpacked backup, the new store and its write-ahead log. */
const writtenAtOnce = 3;
/** The write-ahead log and the log file of the box that starts. */
const spareBytes = 1024 * 1024;

/** Deflate (RFC 1951) compresses at most by this factor. Limits the size that a damaged file can state. */
const mostCompression = 1032;

/** The size that the last bytes of a gzip file state (RFC 1952, ISIZE). Zero for another file. */
function unpackedSize(path: string): number {
  const { size } = statSync(path);
  const file = openSync(path, "r");
  try {
    const read = (position: number): Buffer => {
      const bytes = Buffer.alloc(4);
      readSync(file, bytes, 0, bytes.length, position);
      return bytes;
    };
    const isGzip = size > 8 && read(0).readUInt16BE() === 0x1f8b;
    return isGzip ? Math.min(read(size - 4).readUInt32LE(), size * mostCompression) : 0;
  } finally {
    closeSync(file);
  }
}

async function restoreInto({ dataDir }: BoxPaths, file: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    const { objects, revision } = await restoreFolder(dataDir, resolve(file), signal);
    console.log(`Restored ${objects} objects into ${dataDir}; resource versions continue at ${revision}`);
  } catch (error) {
    signal.throwIfAborted();
    const why = reasonOf(error);
    // SQLite's own errors name no file.
    const isNamed = why.startsWith("Cannot ");
    throw new CommandError(isNamed ? why : `Cannot restore into "${dataDir}": ${why}`, { cause: error });
  }
}
