import type { TestContext } from "vitest";
import type { Ended } from "./run-command.ts";

/** A client is not available on this machine, because a tool is missing or packages cannot be downloaded. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** Skips the test if what it needs is not available. */
export async function available<T>(made: Promise<T>, { skip }: Pick<TestContext, "skip">): Promise<T> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof Unavailable) return skip(error.message);
    throw error;
  }
}

/** Messages of Go and pip when they cannot reach their package source. */
const outOfReach =
  /disabled by GOPROXY=off|dial tcp|no such host|i\/o timeout|connection refused|TLS handshake timeout|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError/;

/** Throws when the command failed: `Unavailable` if only because of the network. */
export function demand(what: string, { code, stdout, stderr }: Ended): string {
  if (code === 0) return stdout;
  if (code === 127) throw new Unavailable(stderr);
  const line = stderr.split("\n").find((each) => outOfReach.test(each));
  if (line !== undefined) throw new Unavailable(`packages are neither cached nor in reach: ${line.trim()}`);
  throw new Error(`Cannot ${what}: exit code ${code}\n${stdout}${stderr}`);
}
