import type { IncomingHttpHeaders } from "node:http";
import { ApiError, badRequest } from "../api-error.ts";

/** The negotiated transport and protocol of a session. */
export type Wire =
  | { readonly kind: "web-socket"; readonly protocol: string }
  /** SPDY frames in the messages of a WebSocket. */
  | { readonly kind: "tunnel"; readonly protocol: string }
  | { readonly kind: "spdy"; readonly protocol: string };

/** The supported protocols for one purpose by preference. */
export interface Accepted {
  readonly webSocket: readonly string[];
  readonly spdy: readonly string[];
}

const tunnelPrefix = "SPDY/3.1+";

/** Chooses one of the protocols that a client offers. The error lists the supported ones. */
export function negotiate(headers: IncomingHttpHeaders, accepted: Accepted): Wire {
  const upgrade = (headers.upgrade ?? "").toLowerCase();
  if (upgrade === "websocket") {
    const offered = listOf(headers["sec-websocket-protocol"]);
    const protocol = accepted.webSocket.find((each) => offered.includes(each));
    if (protocol !== undefined) return { kind: isTunnel(protocol) ? "tunnel" : "web-socket", protocol };
    throw badRequest(
      `unable to upgrade: none of the subprotocols is supported; the server speaks ${accepted.webSocket.join(", ")}`,
    );
  }
  if (upgrade === "spdy/3.1") {
    const offered = listOf(headers["x-stream-protocol-version"]);
    const protocol = accepted.spdy.find((each) => offered.includes(each));
    if (protocol !== undefined) return { kind: "spdy", protocol };
    throw new ApiError(
      "Forbidden",
      `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(" ")}], server accepts [${accepted.spdy.join(" ")}]`,
    );
  }
  throw badRequest(`unable to upgrade: the server supports WebSocket and SPDY/3.1 here, not "${upgrade}"`);
}

const isTunnel = (protocol: string): boolean => protocol.startsWith(tunnelPrefix);

function listOf(header: string | string[] | undefined): string[] {
  return [header ?? []].flat().flatMap((line) => line.split(",").map((each) => each.trim()));
}
