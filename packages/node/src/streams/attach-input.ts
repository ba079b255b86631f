import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { hasCode } from "../errors.ts";
import { libc } from "../system/libc.ts";

/** The monitor reads messages of up to 32 KiB; the kernel keeps a few of this size for it. */
const packetBytes = 8192;
const betweenTriesMs = 10;

/**
 * The way to a container's standard input: a socket of its monitor's. What the container does not read yet waits there,
 * and then here. Ending it ends the container's input, unless that is to stay open for others.
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

/** For those who only want to look. */
export function noInput(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** The monitor takes lines of a kind, rows and columns. One that has ended has no terminal left. */
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

/** Goes on by itself when there is no room for now. */
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

/** A path by way of its folder: a bundle's own is longer than an address may be. */
function connectIn(folder: string, name: string): number {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return libc().connectPackets(`/proc/self/fd/${descriptor}/${name}`);
  } finally {
    closeSync(descriptor);
  }
}
