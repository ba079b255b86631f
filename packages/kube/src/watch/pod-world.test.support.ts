import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { type Answer, json } from "../client/http/hostile-api.test.support.ts";
import type { Clock } from "../clock.ts";
import type { KubeObject } from "../resource.ts";

export interface Event {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}

/** Handles a request in place of the server; false to let the server answer. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A small API server for Pods that can inject a fault into every request. */
export class PodWorld {
  readonly log: Event[] = [];
  readonly pods: Map<string, KubeObject> = new Map();
  version = 1;
  /** Watches and continue tokens from before this version have expired. */
  floor = 0;
  streams = false;
  fault: ((kind: "list" | "watch", nth: number) => Fault | undefined) | undefined;
  readonly counts: { list: number; watch: number } = { list: 0, watch: 0 };
  readonly #open = new Set<ServerResponse>();

  put(name: string): void {
    const type = this.pods.has(name) ? "MODIFIED" : "ADDED";
    this.#record(type, this.#object(name));
  }

  remove(name: string): void {
    if (this.pods.has(name)) this.#record("DELETED", this.#object(name));
  }

  /** Restores an earlier state, as from a backup, and closes all connections. */
  restore(version: number): void {
    const kept = this.#asOf(version);
    this.log.splice(0, this.log.length, ...this.log.filter(({ object }) => versionOf(object) <= version));
    this.pods.clear();
    for (const object of kept) this.pods.set(object.metadata?.name ?? "", object);
    this.version = version;
    for (const response of this.#open) response.destroy();
  }

  bookmark(version: number = this.version): void {
    for (const response of this.#open) response.write(line({ type: "BOOKMARK", object: at(version) }));
  }

  get watches(): number {
    return this.#open.size;
  }

  readonly answer: Answer = (request, response) => {
    const query = new URL(request.url ?? "", "http://x").searchParams;
    const kind = query.has("watch") ? "watch" : "list";
    this.counts[kind] += 1;
    if (this.fault?.(kind, this.counts[kind])?.(request, response)) return;
    if (kind === "watch") this.#watch(query, response);
    else this.#list(query, response);
  };

  #object(name: string): KubeObject {
    this.version += 1;
    return {
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name, namespace: "ns", resourceVersion: String(this.version) },
    };
  }

  #record(type: Event["type"], object: KubeObject): void {
    const event = { type, object };
    const name = object.metadata?.name ?? "";
    if (type === "DELETED") this.pods.delete(name);
    else this.pods.set(name, object);
    this.log.push(event);
    for (const response of this.#open) response.write(line(event));
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const [version = this.version, offset = 0] = (query.get("continue") ?? "").split(":").filter(Boolean).map(Number);
    if (version < this.floor) return expired(response);
    const items = query.has("fieldSelector") ? [] : this.#asOf(version);
    const limit = Number(query.get("limit") ?? items.length);
    const end = offset + limit;
    const token = end < items.length ? { continue: `${version}:${end}` } : {};
    json(response, { metadata: { resourceVersion: String(version), ...token }, items: items.slice(offset, end) });
  }

  #asOf(version: number): KubeObject[] {
    if (version === this.version) return [...this.pods.values()];
    const pods = new Map<string, KubeObject>();
    for (const { type, object } of this.log) {
      if (versionOf(object) > version) break;
      if (type === "DELETED") pods.delete(object.metadata?.name ?? "");
      else pods.set(object.metadata?.name ?? "", object);
    }
    return [...pods.values()];
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get("sendInitialEvents") === "true";
    if (initial && !this.streams)
      return json(response, { kind: "Status", code: 422, reason: "Invalid", message: "no" }, 422);
    const from = initial ? this.version : Number(query.get("resourceVersion"));
    if (from < this.floor) return expired(response);
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (initial) {
      for (const object of this.pods.values()) response.write(line({ type: "ADDED", object }));
      const { metadata } = at(from);
      const annotations = { "k8s.io/initial-events-end": "true" };
      response.write(line({ type: "BOOKMARK", object: { metadata: { ...metadata, annotations } } }));
    }
    for (const event of this.log) if (versionOf(event.object) > from) response.write(line(event));
    // Like kube-apiserver: a watch from a future version waits for it without an event.
    if (from > this.version) return;
    this.#open.add(response);
    response.on("close", () => this.#open.delete(response));
  }
}

export const line = (event: object): string => `${JSON.stringify(event)}\n`;

const versionOf = (object: KubeObject): number => Number(object.metadata?.resourceVersion);

export const at = (version: number): KubeObject => ({ metadata: { resourceVersion: String(version) } });

export function expired(response: ServerResponse): void {
  json(response, { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }, 410);
}

/** A clock that runs `factor` times as fast. */
export function fastClock(factor: number): Clock {
  return {
    now: () => performance.now() * factor,
    sleep: (ms, signal) => delay(ms / factor, undefined, signal ? { signal } : {}).catch(() => undefined),
  };
}

/** Returns the same numbers for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
