import type { Duplex } from "node:stream";
import type { PodSessions, SessionTarget } from "@agent-sandbox/kube";
import { storeKey } from "../api-object.ts";
import type { ResourcePath } from "../request/request-path.ts";
import type { Store } from "../store/store.ts";
import { fromNode } from "./node-error.ts";
import { parseProxyName } from "./proxy-target.ts";

export interface SessionContext {
  readonly store: Store;
  readonly podSessions: PodSessions | undefined;
}

/** The Pod or Service that a request has a session with. */
export type SessionName = Omit<SessionTarget, "object">;

const noSession: Disposable = { [Symbol.dispose]: () => undefined };

const sessionParts: readonly string[] = ["exec", "attach", "portforward"];

/** The Pod or Service that a request for an upgrade or a proxied request has a session with. Undefined for other paths. */
export function sessionOf({
  apiVersion,
  plural,
  namespace,
  name,
  subresource = "",
}: ResourcePath): SessionName | undefined {
  if (apiVersion !== "v1" || namespace === undefined || name === undefined) return undefined;
  if (subresource === "proxy" && (plural === "pods" || plural === "services")) {
    return { resource: plural, namespace, name: parseProxyName(name).name };
  }
  return plural === "pods" && sessionParts.includes(subresource) ? { resource: plural, namespace, name } : undefined;
}

/**
 * Begins a session and waits until its target can be used, which may wake a Sandbox: call it after the caller was authorised,
 * and read the target from the store after that.
 */
export async function beginSession(
  { store, podSessions }: SessionContext,
  session: SessionName,
  signal: AbortSignal,
): Promise<Disposable> {
  if (podSessions === undefined) return noSession;
  const object = store.get(session.resource, storeKey(session.namespace, session.name))?.object;
  return podSessions.begin({ ...session, object }, signal).catch((error: unknown) => {
    throw fromNode(error);
  });
}

const clientGone = new Error("the client is gone");

/** Aborts when the client of a connection that nobody reads yet closes it, until disposed. */
export function watchClient(socket: Duplex): Disposable & { readonly signal: AbortSignal } {
  const gone = new AbortController();
  const abort = (): void => gone.abort(clientGone);
  // The end of a connection shows only when somebody reads. Data that comes early is put back.
  const read = (): void => {
    const early: unknown = socket.read();
    if (early === null) return;
    socket.off("readable", read);
    socket.unshift(early);
  };
  socket.once("close", abort).once("end", abort).on("readable", read);
  const stop = (): unknown => socket.off("close", abort).off("end", abort).off("readable", read);
  return { signal: gone.signal, [Symbol.dispose]: () => void stop() };
}
