import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
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
}

const cache = new WeakMap<Socket, ConnectionInfo>();

export function connectionInfoOf(socket: Socket): ConnectionInfo {
  const cached = cache.get(socket);
  if (cached !== undefined) return cached;
  const peer = (socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
  const isSecure = socket instanceof TLSSocket;
  const certificate = isSecure && socket.authorized ? verifiedCertificate(socket.getPeerCertificate()) : undefined;
  const info = { key: connectionKey(socket), peer, isSecure, certificate };
  cache.set(socket, info);
  return info;
}
