import type { Duplex, Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** One connection that a client wants to have to a port. */
export interface ForwardedPort {
  readonly port: number;
  /** From the client and to it. */
  readonly input: Readable;
  readonly output: Writable;
  /** What is written here is told to the user. */
  readonly error: Writable;
}

/** Joins a client's connection and a port until both have said all they had to say. */
export async function forwardPort(
  { port, input, output, error }: ForwardedPort,
  dial: (port: number) => Promise<Duplex>,
): Promise<void> {
  const remote = await dial(port).catch((problem: unknown) => {
    error.end(`error forwarding port ${port}: ${problem instanceof Error ? problem.message : String(problem)}`);
  });
  if (remote === undefined) {
    input.resume();
    return void output.end();
  }
  // The client may have gone meanwhile; what the connection was for is gone with it.
  if (output.destroyed) return void remote.destroy();
  await Promise.allSettled([pipeline(input, remote), pipeline(remote, output)]);
  remote.destroy();
  error.end();
}

const largestPort = 65_535;

/** Undefined when the text names no port. */
export function parsePort(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  return port > 0 && port <= largestPort ? port : undefined;
}
