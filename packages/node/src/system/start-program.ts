import { Socket } from "node:net";
import { type Ended, posixSpawn, reap, type SpawnOptions } from "./posix-spawn.ts";

/** A program that was started. It is a child of this process: somebody has to wait for it, which is done here. */
export interface Program {
  readonly pid: number;
  /** Our ends, by descriptor; undefined for what is ignored. An end nobody wants is destroyed by the caller. */
  readonly stdio: readonly (Socket | undefined)[];
  /** Settles when the process is gone; what it wrote may be still to be read. */
  readonly ended: Promise<Ended>;
}

const running = new Map<number, (ended: Ended) => void>();

/** Starts a program; see `posixSpawn`. Throws at once when it cannot. */
export function startProgram(program: string, args: readonly string[], options: SpawnOptions): Program {
  // Before it can end.
  if (running.size === 0) process.on("SIGCHLD", reapAll);
  try {
    const { pid, descriptors } = posixSpawn(program, args, options);
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    const stdio = descriptors.map(openEnd);
    running.set(pid, (how) => {
      // Nobody reads it any more.
      stdio[0]?.destroy();
      resolve(how);
    });
    return { pid, stdio, ended };
  } finally {
    stopListening();
  }
}

/** The kernel tells that some child has ended, not which, and tells once for several. */
function reapAll(): void {
  for (const [pid, resolve] of running) {
    const ended = reap(pid);
    if (ended === undefined) continue;
    running.delete(pid);
    resolve(ended);
  }
  stopListening();
}

function stopListening(): void {
  if (running.size === 0) process.off("SIGCHLD", reapAll);
}

/** The first is theirs to read, the next two are theirs to write, and others are for both. */
function openEnd(fd: number | undefined, descriptor: number): Socket | undefined {
  if (fd === undefined) return undefined;
  const socket = new Socket({ fd, readable: descriptor !== 0, writable: descriptor === 0 || descriptor > 2 });
  // A program that ends without reading its input is judged by its exit code.
  if (descriptor === 0) socket.on("error", () => undefined);
  return socket;
}
