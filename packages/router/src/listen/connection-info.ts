import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { ForwardCaller } from "@agent-sandbox/kube";
import type { VerifiedCertificate } from "../auth/caller.ts";
import { verifiedCertificate } from "../auth/certificate-user.ts";
import { connectionKey } from "./connection-limit.ts";

/** Facts about a client's connection that apply to every request on it. */
export interface ConnectionInfo {
  /** Identifies the connection among those that are open. */
  readonly key: string;
  readonly peer: string;
  readonly isSecure: boolean;
  readonly certificate: VerifiedCertificate | undefined;
  /** The client of the port-forward that the connection belongs to. */
  readonly forwarded?: ForwardCaller | undefined;
}

const cache = new WeakMap<Socket, ConnectionInfo>();

export function connectionInfoOf(socket: Socket): ConnectionInfo {
  const cached = cache.get(socket);
  if (cached !== undefined) return cached;
  const peer = plainAddress(socket.remoteAddress);
  const isSecure = socket instanceof TLSSocket;
  const certificate = isSecure && socket.authorized ? verifiedCertificate(socket.getPeerCertificate()) : undefined;
  const info = { key: connectionKey(socket), peer, isSecure, certificate };
  cache.set(socket, info);
  return info;
}

let forwardedConnections = 0;

/** The facts about a connection of a port-forward, which has no address of its own. */
export function forwardedConnectionInfo(caller: ForwardCaller): ConnectionInfo {
  forwardedConnections += 1;
  const key = `port-forward ${forwardedConnections}`;
  return { key, peer: plainAddress(caller.address), isSecure: false, certificate: undefined, forwarded: caller };
}

const plainAddress = (address = "unknown"): string => address.replace(/^::ffff:(?=\d+\.)/, "");
