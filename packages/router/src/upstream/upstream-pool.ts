import type { Socket } from "node:net";
import { FairShare } from "@agent-sandbox/kube";
import { type Target, targetKey } from "../cluster/target.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { Backlog } from "../proxy/backlog.ts";
import type { PodConnections } from "./pod-continuity.ts";

export interface UpstreamPoolOptions {
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  /** Idle connections kept for one port of a pod. */
  readonly idlePerTarget: number;
  /** Idle connections in total, shared fairly by the namespaces. */
  readonly idleTotal: number;
  readonly maxHeaderBytes: number;
  readonly backlog: Backlog;
}

/** How often idle connections are checked. */
const sweepMs = 250;

/**
 * A pool of connections to pods. They are kept by the pod's UID, so a later pod with the same address does not get them, also
 * not if the Sandbox is the same: its memory may not know them.
 */
export class UpstreamPool implements PodConnections, Disposable {
  readonly #options: UpstreamPoolOptions;
  readonly #idle = new Map<string, Member[]>();
  readonly #byPod = new Map<string, Set<Member>>();
  readonly #deadlines = new Deadlines(sweepMs);
  readonly #share: FairShare;
  #closed = false;

  constructor(options: UpstreamPoolOptions) {
    this.#options = options;
    this.#share = new FairShare(options.idleTotal);
  }

  get size(): number {
    let size = 0;
    for (const members of this.#byPod.values()) size += members.size;
    return size;
  }

  /** An idle connection. It returns to the pool by itself after the response. */
  take(target: Target): UpstreamConnection | undefined {
    const key = targetKey(target);
    const free = this.#idle.get(key);
    for (let next = free?.pop(); next !== undefined; next = free?.pop()) {
      this.#share.giveBack(next.namespace);
      next.deadlineMs = Number.POSITIVE_INFINITY;
      if (free?.length === 0) this.#idle.delete(key);
      if (next.connection.isOpen) return next.connection;
      next.connection.destroy();
    }
    return undefined;
  }

  /** Opens a connection. Throws a `DialError` if that fails; nothing was sent then. */
  async open(target: Target, signal?: AbortSignal): Promise<UpstreamConnection> {
    const socket = await this.#options.dial(target, signal);
    this.#options.backlog.assign(socket, target.namespace);
    const connection: UpstreamConnection = new UpstreamConnection(socket, {
      host: `${target.ip.includes(":") ? `[${target.ip}]` : target.ip}:${target.port}`,
      maxHeaderBytes: this.#options.maxHeaderBytes,
      backlog: this.#options.backlog,
      onFree: (idleMs) => this.#free(member, idleMs),
      onClosed: () => this.#forget(member),
    });
    const member: Member = {
      key: targetKey(target),
      podUid: target.podUid,
      namespace: target.namespace,
      connection,
      deadlineMs: Number.POSITIVE_INFINITY,
      onDeadline: () => connection.destroy(),
    };
    this.#deadlines.watch(member);
    const siblings = this.#byPod.get(target.podUid) ?? new Set();
    this.#byPod.set(target.podUid, siblings.add(member));
    return connection;
  }

  /** Closes the idle connections to a target, because they may lead to another pod. */
  discard(target: Target): void {
    for (let free = this.take(target); free !== undefined; free = this.take(target)) free.destroy();
  }

  /** Closes all connections to a pod that is gone. */
  drop(podUid: string): void {
    for (const { connection } of this.#byPod.get(podUid) ?? []) connection.destroy();
  }

  /** The connections are still kept by the old key, so only requests that are in progress use them. */
  move(podUid: string, to: string): void {
    const moved = this.#byPod.get(podUid);
    if (moved === undefined) return;
    this.#byPod.delete(podUid);
    const siblings = this.#byPod.get(to) ?? new Set();
    this.#byPod.set(to, siblings);
    for (const member of moved) {
      member.podUid = to;
      siblings.add(member);
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const members of this.#byPod.values()) for (const { connection } of members) connection.destroy();
    this.#deadlines[Symbol.dispose]();
  }

  #free(member: Member, idleMs: number): void {
    const free = this.#idle.get(member.key) ?? [];
    const mayStay = !this.#closed && free.length < this.#options.idlePerTarget;
    if (!mayStay || !this.#share.take(member.namespace)) {
      member.connection.destroy();
      return;
    }
    member.deadlineMs = this.#deadlines.after(idleMs);
    free.push(member);
    this.#idle.set(member.key, free);
  }

  #forget(member: Member): void {
    this.#deadlines.forget(member);
    const siblings = this.#byPod.get(member.podUid);
    siblings?.delete(member);
    if (siblings?.size === 0) this.#byPod.delete(member.podUid);
    const free = this.#idle.get(member.key);
    const place = free?.indexOf(member) ?? -1;
    if (free === undefined || place < 0) return;
    free.splice(place, 1);
    this.#share.giveBack(member.namespace);
    if (free.length === 0) this.#idle.delete(member.key);
  }
}

interface Member extends Timed {
  readonly key: string;
  podUid: string;
  readonly namespace: string;
  readonly connection: UpstreamConnection;
  deadlineMs: number;
}
