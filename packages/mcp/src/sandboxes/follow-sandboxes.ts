import { setTimeout as sleep } from "node:timers/promises";
import { claims, Deadline, type KubeObject, type Resource, sandboxes } from "@agent-sandbox/sdk/internal";
import type { Caller } from "../caller.ts";
import { KnownSandboxes } from "./known-sandboxes.ts";

export interface Follow {
  readonly caller: Caller;
  readonly onChange: () => void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const listMs = 20_000;
/** A slow API server delays nobody for longer. */
const firstListMs = 2000;
/** Also after a failure: the user may get the right to watch, and the server may come back. */
const pauseMs = 5000;

/**
 * Tells when a sandbox that the caller may know about appears in the connection's namespace, or disappears. Resolves when the present
 * ones are known or cannot be listed, and goes on until the signal is aborted.
 */
export async function followSandboxes(follow: Follow): Promise<void> {
  const listed = [claims, sandboxes].map((resource) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void followKind(follow, resource, resolve);
    return promise;
  });
  const waiting = new AbortController();
  // It keeps the process alive: nothing else may do so yet.
  const late = sleep(firstListMs, undefined, { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([Promise.all(listed), late]);
  waiting.abort();
}

async function followKind(follow: Follow, resource: Resource<KubeObject>, onListed: () => void): Promise<void> {
  const { signal } = follow;
  const known = new KnownSandboxes({ ...follow, isClaim: resource.kind === claims.kind });
  while (!signal.aborted) {
    // The connection was lost, or the user may not watch.
    await watchOnce(follow, { resource, known, onListed }).catch(onListed);
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

interface Watched {
  readonly resource: Resource<KubeObject>;
  readonly known: KnownSandboxes;
  readonly onListed: () => void;
}

async function watchOnce({ caller, signal }: Follow, { resource, known, onListed }: Watched): Promise<void> {
  const { api, namespace } = caller;
  const doing = "Cannot follow sandboxes";
  using listing = new Deadline({ signal }, listMs, doing);
  const { items, resourceVersion } = await api.snapshot(resource, { namespace }, listing);
  known.replace(items);
  onListed();
  using deadline = new Deadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, listMs, doing);
  for await (const { type, object } of api.watch(resource, { namespace }, { resourceVersion, deadline })) {
    if (type === "ERROR") return;
    if (type !== "BOOKMARK") known.update(object, type !== "DELETED");
  }
}
