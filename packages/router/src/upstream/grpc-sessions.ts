import { type ClientHttp2Session, connect } from "node:http2";
import type { Socket } from "node:net";
import { type Target, targetKey } from "../cluster/target.ts";
import type { PodConnections } from "./pod-continuity.ts";

export interface GrpcSessionsOptions {
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
}

/** A session without streams is closed after this time. */
const idleMs = 60_000;

/** One HTTP/2 session for each port of a pod, shared by all calls. Sessions are kept by the pod's UID. */
export class GrpcSessions implements PodConnections, Disposable {
  readonly #options: GrpcSessionsOptions;
  readonly #current = new Map<string, ClientHttp2Session>();
  /** All open sessions with their pod, including those that accept no new calls and still have some. */
  readonly #all = new Map<ClientHttp2Session, string>();
  readonly #opening = new Map<string, Promise<ClientHttp2Session>>();

  constructor(options: GrpcSessionsOptions) {
    this.#options = options;
  }

  /** Throws a `DialError` if no session can be opened; nothing was sent then. */
  async get(target: Target): Promise<ClientHttp2Session> {
    const key = targetKey(target);
    const known = this.#current.get(key);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const opening = this.#opening.get(key) ?? this.#start(key, target).finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  drop(podUid: string): void {
    for (const [session, uid] of this.#all) if (uid === podUid) session.destroy();
  }

  move(podUid: string, to: string): void {
    for (const [session, uid] of this.#all) if (uid === podUid) this.#all.set(session, to);
  }

  [Symbol.dispose](): void {
    for (const session of this.#all.keys()) session.destroy();
  }

  /** Not cancelled with the request that starts it, because others may wait for the same session. */
  async #start(key: string, target: Target): Promise<ClientHttp2Session> {
    const socket = await this.#options.dial(target);
    const host = target.ip.includes(":") ? `[${target.ip}]` : target.ip;
    const session = connect(`http://${host}:${target.port}`, { createConnection: () => socket });
    session.on("error", () => undefined);
    session.on("close", () => {
      this.#all.delete(session);
      if (this.#current.get(key) === session) this.#current.delete(key);
    });
    session.setTimeout(idleMs, () => session.close());
    this.#all.set(session, target.podUid);
    this.#current.set(key, session);
    return session;
  }
}
