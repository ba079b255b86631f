import type { Duplex, Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** One forwarded connection of a client. */
export interface ForwardedPort {
  readonly port: number;
  /** Data from the client; `output` is data to it. */
  readonly input: Readable;
  readonly output: Writable;
  /** Errors written here are shown to the user. */
  readonly error: Writable;
}

/** Connects to the port and copies data in both directions until both have ended. */
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
  // The client may have disconnected during the dial.
  if (output.destroyed) return void remote.destroy();
  await Promise.allSettled([pipeline(input, remote), pipeline(remote, output)]);
  remote.destroy();
  error.end();
}

const largestPort = 65_535;

/** Returns undefined for text that is not a port number. */
export function parsePort(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  return port > 0 && port <= largestPort ? port : undefined;
}
