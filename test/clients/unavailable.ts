import type { Ended } from "./run-command.ts";

/** A client cannot be had on this machine: a tool is missing, or what it needs is neither cached nor in reach. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** How Go and pip say that they cannot reach where packages come from. */
const outOfReach =
  /disabled by GOPROXY=off|dial tcp|no such host|i\/o timeout|connection refused|TLS handshake timeout|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError/;

/** Demands success. What failed only for want of the network makes the client unavailable. */
export function demand(what: string, { code, stdout, stderr }: Ended): string {
  if (code === 0) return stdout;
  if (code === 127) throw new Unavailable(stderr);
  const line = stderr.split("\n").find((each) => outOfReach.test(each));
  if (line !== undefined) throw new Unavailable(`packages are neither cached nor in reach: ${line.trim()}`);
  throw new Error(`Cannot ${what}: exit code ${code}\n${stdout}${stderr}`);
}
