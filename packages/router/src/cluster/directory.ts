import {
  controllerOf,
  coreGroup,
  type Pod,
  refersToKind,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxNameHashLabel,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import {
  controllerKey,
  dropManagedFields,
  type Index,
  type Informer,
  type Informers,
  keyOf,
} from "@agent-sandbox/kube";
import type { ClusterView } from "./resolve.ts";
import { pods } from "./resources.ts";
import type { Target } from "./target.ts";

export interface DirectoryOptions {
  readonly informers: Informers;
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** Whether the caches are shared with other components, which need whole Pods. */
  readonly isShared: boolean;
  /** Whether the cluster serves SandboxClaims. */
  readonly claims: boolean;
}

/** Removes the spec of a Pod from the cache. The router only needs metadata and status. */
export function trimPod(pod: Pod): Pod {
  const trimmed = { ...pod };
  delete trimmed.spec;
  return dropManagedFields(trimmed);
}

const sandboxUid = ({ metadata }: Sandbox): readonly string[] => (metadata.uid === undefined ? [] : [metadata.uid]);

/**
 * Pods are indexed by the namespace and UID of their Sandbox. Everyone who may create Pods can write any owner reference,
 * so a Pod in another namespace that refers to the UID does not belong to the Sandbox.
 */
const ownerIn = (namespace: string | undefined, uid: string): string => `${namespace}/${uid}`;

const ownerOf = (pod: Pod): readonly string[] => {
  const owner = controllerOf(pod);
  const isOwned = owner !== undefined && refersToKind(owner, { group: coreGroup, kind: "Sandbox" });
  return isOwned ? [ownerIn(pod.metadata?.namespace, owner.uid)] : [];
};

/** `last`: the pod as it was last seen, if that is known. */
export type PodGoneListener = (podUid: string, last: Pod | undefined) => void;

/** Pods that a live read found gone before the watch reported it. Far fewer are expected at a time. */
const maxGonePods = 10_000;

/** Caches of Sandboxes, claims and Pods, filled by watches. Listeners are notified when one of them changes. */
export class Directory implements ClusterView, Disposable {
  readonly #sandboxes: Informer<Sandbox>;
  readonly #claims: Informer<SandboxClaim> | undefined;
  readonly #pods: Informer<Pod>;
  readonly #byUid: Index<Sandbox>;
  readonly #byOwner: Index<Pod>;
  readonly #gone = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #onPodGone = new Set<PodGoneListener>();
  readonly #subscriptions = new DisposableStack();
  #version = 0;

  constructor({ informers, namespace, isShared, claims }: DirectoryOptions) {
    const scope = namespace === undefined ? {} : { namespace };
    this.#sandboxes = informers.get(sandboxes, scope);
    this.#claims = claims ? informers.get(sandboxClaims, scope) : undefined;
    const podScope = { ...scope, labelSelector: sandboxNameHashLabel };
    this.#pods = informers.get(pods, isShared ? podScope : { ...podScope, trim: trimPod });
    this.#byUid = this.#sandboxes.index("router-uid", sandboxUid);
    this.#byOwner = this.#pods.index("router-owner", ownerOf);
    for (const informer of [this.#sandboxes, this.#claims, this.#pods]) {
      if (informer !== undefined) this.#subscriptions.use(informer.subscribe(() => void (this.#version += 1)));
    }
    this.#subscriptions.use(this.#sandboxes.subscribe(({ deltas }) => deltas.forEach(({ key }) => this.notify(key))));
    this.#subscriptions.use(this.#claims?.subscribe(({ deltas }) => deltas.forEach(({ key }) => this.notify(key))));
    this.#subscriptions.use(
      this.#pods.subscribe(({ deltas }) => deltas.forEach((delta) => this.#podChanged(delta.old, delta.new))),
    );
  }

  get hasSynced(): boolean {
    return this.#sandboxes.hasSynced && this.#claims?.hasSynced !== false && this.#pods.hasSynced;
  }

  get synced(): Promise<unknown> {
    return Promise.all([this.#sandboxes.synced, this.#claims?.synced, this.#pods.synced]);
  }

  /** Changes whenever a cache changes. A result computed for an earlier version may be outdated. */
  get version(): number {
    return this.#version;
  }

  get sandboxInformer(): Informer<Sandbox> {
    return this.#sandboxes;
  }

  sandbox(namespace: string, name: string): Sandbox | undefined {
    return this.#sandboxes.get(keyOf({ namespace, name }));
  }

  sandboxByUid(uid: string): Sandbox | undefined {
    return this.#byUid.get(uid)[0];
  }

  claim(namespace: string, name: string): SandboxClaim | undefined {
    return this.#claims?.get(keyOf({ namespace, name }));
  }

  podsOf({ metadata: { namespace, uid = "" } }: Sandbox): readonly Pod[] {
    const owned = this.#byOwner.get(ownerIn(namespace, uid));
    return this.#gone.size === 0 ? owned : owned.filter(({ metadata }) => !this.#gone.has(metadata?.uid ?? ""));
  }

  /** Ignores the pod from now on, because a live read found that it is gone or has another address. */
  markGone({ namespace, podName, podUid }: Pick<Target, "namespace" | "podName" | "podUid">): void {
    if (this.#gone.size >= maxGonePods) this.#gone.delete(this.#gone.values().next().value as string);
    this.#gone.add(podUid);
    this.#version += 1;
    const pod = this.#pods.get(keyOf({ namespace, name: podName }));
    // Whether the memory of such a pod was saved, only the watch can tell.
    const maySave = pod?.metadata?.uid === podUid && pod.metadata?.annotations?.[suspendDepthAnnotation] === "Memory";
    if (!maySave) this.#notifyPodGone(podUid, undefined);
  }

  /** Calls the listener when a pod is gone. */
  onPodGone(listener: PodGoneListener): Disposable {
    this.#onPodGone.add(listener);
    return { [Symbol.dispose]: () => this.#onPodGone.delete(listener) };
  }

  /** Calls the listener when the Sandbox or claim of that key changes, or a Pod of that Sandbox. */
  watch(key: string, listener: () => void): Disposable {
    const listeners = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#waiting.get(key) === listeners) this.#waiting.delete(key);
      },
    };
  }

  /** Calls the listeners of this key. */
  notify(key: string): void {
    const listeners = this.#waiting.get(key);
    if (listeners !== undefined) for (const listener of listeners) listener();
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined): void {
    const uid = before?.metadata?.uid;
    if (uid !== undefined && after?.metadata?.uid !== uid) {
      this.#gone.delete(uid);
      this.#notifyPodGone(uid, before);
    }
    for (const pod of [before, after]) {
      const key = pod && controllerKey(pod, sandboxes);
      if (key !== undefined) this.notify(key);
    }
  }

  #notifyPodGone(podUid: string, last: Pod | undefined): void {
    for (const listener of this.#onPodGone) listener(podUid, last);
  }
}
