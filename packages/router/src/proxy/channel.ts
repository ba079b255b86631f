import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { VerifiedCertificate } from "../auth/caller.ts";
import { verifiedCertificate } from "../auth/certificate-user.ts";
import { connectionKey } from "./connection-places.ts";

/** What the connection tells about every request that comes over it. */
export interface Channel {
  /** Names the connection among those that are open. */
  readonly connection: string;
  readonly peer: string;
  readonly isSecure: boolean;
  readonly certificate: VerifiedCertificate | undefined;
}

const known = new WeakMap<Socket, Channel>();

export function channelOf(socket: Socket): Channel {
  const before = known.get(socket);
  if (before !== undefined) return before;
  const peer = (socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
  const isSecure = socket instanceof TLSSocket;
  const certificate = isSecure && socket.authorized ? verifiedCertificate(socket.getPeerCertificate()) : undefined;
  const channel = { connection: connectionKey(socket), peer, isSecure, certificate };
  known.set(socket, channel);
  return channel;
}
