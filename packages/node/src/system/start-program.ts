import { Socket } from "node:net";
import { type Ended, posixSpawn, reap, type SpawnOptions } from "./posix-spawn.ts";

/** A running child process. It is reaped here when it ends. */
export interface Program {
  readonly pid: number;
  /** Our ends by descriptor; undefined for "ignore" and "peer". The caller destroys those it does not use. */
  readonly stdio: readonly (Socket | undefined)[];
  /** Resolves when the process has ended. Its output may still be unread. */
  readonly ended: Promise<Ended>;
}

const running = new Map<number, (ended: Ended) => void>();

/** Starts a program with `posixSpawn`. Throws if it cannot start. */
export function startProgram(program: string, args: readonly string[], options: SpawnOptions): Program {
  // Listen before the process can end.
  if (running.size === 0) process.on("SIGCHLD", reapAll);
  try {
    const { pid, descriptors } = posixSpawn(program, args, options);
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    const stdio = descriptors.map(openEnd);
    running.set(pid, (how) => {
      // The process has ended, so nothing reads its input.
      stdio[0]?.destroy();
      resolve(how);
    });
    return { pid, stdio, ended };
  } finally {
    stopListening();
  }
}

/** SIGCHLD does not say which child has ended, and one signal may stand for several. */
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

/** Descriptor 0 is the program's input, 1 and 2 are its outputs, and others go both ways. */
function openEnd(fd: number | undefined, descriptor: number): Socket | undefined {
  if (fd === undefined) return undefined;
  const socket = new Socket({ fd, readable: descriptor !== 0, writable: descriptor === 0 || descriptor > 2 });
  // A program may end without reading its input: its exit code decides.
  if (descriptor === 0) socket.on("error", () => undefined);
  return socket;
}
