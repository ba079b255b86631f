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

export interface DirectoryOptions {
  readonly informers: Informers;
  /** All namespaces when absent. */
  readonly namespace?: string;
  /** Whether others read the same cache: then it keeps Pods as they need them. */
  readonly isShared: boolean;
  /** Whether there are claims to know. */
  readonly claims: boolean;
}

/** What the router keeps of a pod: enough to reach it, and to say why it cannot be reached. */
export function trimPod(pod: Pod): Pod {
  const trimmed = { ...pod };
  delete trimmed.spec;
  return dropManagedFields(trimmed);
}

const sandboxUid = ({ metadata }: Sandbox): readonly string[] => (metadata.uid === undefined ? [] : [metadata.uid]);

/**
 * Pods are found by the namespace and UID of their Sandbox. The owner reference is text that everybody who may create Pods
 * can write: a Pod in another namespace that names a Sandbox's UID is not that Sandbox's Pod.
 */
const ownerIn = (namespace: string | undefined, uid: string): string => `${namespace}/${uid}`;

const ownerOf = (pod: Pod): readonly string[] => {
  const owner = controllerOf(pod);
  const isOwned = owner !== undefined && refersToKind(owner, { group: coreGroup, kind: "Sandbox" });
  return isOwned ? [ownerIn(pod.metadata?.namespace, owner.uid)] : [];
};

/** A live read may tell before the watch does; ten thousand pods that go within one lag of the watch are not expected. */
const mostGonePods = 10_000;

/** The Sandboxes, claims and pods, from watches; whoever waits for one is told when something about it changes. */
export class Directory implements ClusterView, Disposable {
  readonly #sandboxes: Informer<Sandbox>;
  readonly #claims: Informer<SandboxClaim> | undefined;
  readonly #pods: Informer<Pod>;
  readonly #byUid: Index<Sandbox>;
  readonly #byOwner: Index<Pod>;
  readonly #gone = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #onPodGone = new Set<(podUid: string) => void>();
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
    this.#subscriptions.use(this.#sandboxes.subscribe(({ deltas }) => deltas.forEach(({ key }) => this.poke(key))));
    this.#subscriptions.use(this.#claims?.subscribe(({ deltas }) => deltas.forEach(({ key }) => this.poke(key))));
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

  /** Another one whenever anything is known that was not known before: what was concluded until then may be wrong. */
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

  /** A live read found the pod gone, or its address: it counts no more, whatever the watch still says. */
  markGone(podUid: string): void {
    if (this.#gone.size >= mostGonePods) this.#gone.delete(this.#gone.values().next().value as string);
    this.#gone.add(podUid);
    this.#version += 1;
    this.#tellPodGone(podUid);
  }

  /** Told when no new connection to a pod may be made and those that are open are dead or dying. */
  onPodGone(listener: (podUid: string) => void): Disposable {
    this.#onPodGone.add(listener);
    return { [Symbol.dispose]: () => this.#onPodGone.delete(listener) };
  }

  /** Told of changes to the Sandbox or claim of that key, and to the pods of that Sandbox. */
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

  /** Has everyone who waits for this key look again. */
  poke(key: string): void {
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
      this.#tellPodGone(uid);
    }
    for (const pod of [before, after]) {
      const key = pod && controllerKey(pod, sandboxes);
      if (key !== undefined) this.poke(key);
    }
  }

  #tellPodGone(podUid: string): void {
    for (const listener of this.#onPodGone) listener(podUid);
  }
}
