import type { IncomingHttpHeaders } from "node:http2";
import type { Target } from "../cluster/target.ts";
import { DialError } from "./dialer.ts";

/** How the injected runtime answers a request that names another sandbox. */
export const misdirectedStatus = 421;

/**
 * The runtime that was reached is another sandbox's. It said so before it did anything, so what was sent counts as not
 * sent; what it said is between it and the router.
 */
export class Misdirected extends DialError {
  readonly target: Target;

  constructor(target: Target) {
    super("Unreachable", target, { stale: true, cause: new Error("The runtime is another sandbox's") });
    this.target = target;
  }
}

/** The same answer over gRPC, whose code for it (FAILED_PRECONDITION) has other meanings too. */
export function isMisdirectedCall(trailers: IncomingHttpHeaders): boolean {
  const { "grpc-status": code, "grpc-message": message } = trailers;
  return code === "9" && typeof message === "string" && message.startsWith("Cannot serve X-Sandbox-");
}
