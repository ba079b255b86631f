import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { hasCode } from "../errors.ts";
import { libc } from "../system/libc.ts";

/** conmon reads messages of up to 32 KiB. The kernel's socket buffer holds a few of this size. */
const packetBytes = 8192;
const betweenTriesMs = 10;

/**
 * Writes to a container's standard input through the attach socket of its monitor. When the container does not read, the
 * data waits in the socket, then in this stream. Ending the stream closes the container's input if it has `stdinOnce`.
 */
export function openInput(bundle: string): Writable {
  const socket = connectIn(bundle, "attach");
  return new Writable({
    highWaterMark: 2 * packetBytes,
    write(chunk: Buffer, _encoding, done) {
      sendAll(this, { socket, chunk, done });
    },
    destroy(error, done) {
      libc().closeSocket(socket);
      done(error);
    },
  }).on("error", () => undefined);
}

/** Discards what is written, for clients that attach without input. */
export function noInput(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** Sends conmon's control message 1 (resize). Does nothing if the monitor has ended. */
export function resizeTerminal(bundle: string, columns: number, rows: number): void {
  try {
    const pipe = openSync(join(bundle, "ctl"), constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      writeSync(pipe, `1 ${rows} ${columns}\n`);
    } finally {
      closeSync(pipe);
    }
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENXIO", "EPIPE", "EAGAIN")) throw error;
  }
}

interface Sending {
  readonly socket: number;
  readonly chunk: Buffer;
  readonly done: (error?: Error) => void;
}

/** Retries while the socket is full. */
function sendAll(input: Writable, { socket, chunk, done }: Sending): void {
  try {
    for (let at = 0; at < chunk.length; at += packetBytes) {
      if (input.destroyed) return done();
      if (libc().sendPacket(socket, chunk.subarray(at, at + packetBytes))) continue;
      const rest = { socket, chunk: chunk.subarray(at), done };
      setTimeout(() => sendAll(input, rest), betweenTriesMs);
      return;
    }
    done();
  } catch (error) {
    done(error as Error);
  }
}

/** Connects through /proc/self/fd, because the bundle's path is longer than a socket address can be (108 bytes). */
function connectIn(folder: string, name: string): number {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return libc().connectPackets(`/proc/self/fd/${descriptor}/${name}`);
  } finally {
    closeSync(descriptor);
  }
}
