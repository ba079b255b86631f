import type { IncomingHttpHeaders } from "node:http2";
import type { Target } from "../cluster/target.ts";
import { DialError } from "./dialer.ts";

/** The status with which an injected runtime refuses a request for another sandbox (RFC 9110, 15.5.20). */
export const misdirectedStatus = 421;

/**
 * The runtime that received the request belongs to another sandbox. It refuses before it does anything, so the request can
 * be retried. Its response is not relayed.
 */
export class Misdirected extends DialError {
  readonly target: Target;

  constructor(target: Target) {
    super("Unreachable", target, { stale: true, cause: new Error("The runtime belongs to another sandbox") });
    this.target = target;
  }
}

/** The same refusal over gRPC. Its code FAILED_PRECONDITION has other uses, so the message is compared too. */
export function isMisdirectedCall(trailers: IncomingHttpHeaders): boolean {
  const { "grpc-status": code, "grpc-message": message } = trailers;
  return code === "9" && typeof message === "string" && message.startsWith("Cannot serve X-Sandbox-");
}
