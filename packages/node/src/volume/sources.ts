import { createHash } from "node:crypto";
import type { ConfigMap, Pod, Secret } from "@agent-sandbox/api";
import { type Client, type Informer, type Informers, isReason, type Resource } from "@agent-sandbox/kube";
import { configMaps, secrets } from "../resources.ts";
import { type Reference, referencesOf } from "./references.ts";

/** The ConfigMaps and Secrets of a Pod at one moment. */
export interface SourceSnapshot {
  /** Changes when an object in the Pod's volumes has changed. */
  readonly version: string;
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

export interface SourcesOptions {
  readonly client: Client;
  readonly informers: Informers;
  /** Called when the object with this key (`ConfigMap/namespace/name`) has changed. */
  readonly onChange: (key: string) => void;
}

interface Caches {
  readonly ConfigMap: Informer<ConfigMap>;
  readonly Secret: Informer<Secret>;
}

/**
 * The ConfigMaps and Secrets that Pods reference. They are not listed or watched before the first Pod references one. A new Pod
 * gets the stored objects by live reads, and later changes from the watch.
 */
export class Sources implements Disposable {
  readonly #options: SourcesOptions;
  readonly #cleanup = new DisposableStack();
  #opened: Caches | undefined;

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  [Symbol.dispose](): void {
    this.#cleanup.dispose();
  }

  /** Reads the objects that a Pod references from the API server, and updates the cache with them. */
  async refresh(pod: Pod): Promise<void> {
    const references = referencesOf(pod);
    if (references.length === 0) return;
    const opened = this.#open();
    await Promise.all([opened.ConfigMap.synced, opened.Secret.synced]);
    await Promise.all(
      references.map(({ kind, name }) =>
        kind === "ConfigMap"
          ? this.#refreshOne(configMaps, opened.ConfigMap, pod, name)
          : this.#refreshOne(secrets, opened.Secret, pod, name),
      ),
    );
  }

  snapshot(pod: Pod): SourceSnapshot {
    const namespace = pod.metadata?.namespace ?? "";
    const references = referencesOf(pod);
    const opened = references.length === 0 ? undefined : this.#open();
    const read = ({ kind, name }: Reference): ConfigMap | Secret | undefined =>
      opened?.[kind].get(`${namespace}/${name}`);
    const shown = references.filter(({ inVolume }) => inVolume);
    const versions = shown.map((one) => `${one.kind}/${one.name}@${read(one)?.metadata?.resourceVersion ?? ""}`);
    return {
      version: [...versions.toSorted(), ...ownFields(pod)].join(" "),
      configMap: (name) => opened?.ConfigMap.get(`${namespace}/${name}`),
      secret: (name) => opened?.Secret.get(`${namespace}/${name}`),
    };
  }

  #open(): Caches {
    if (this.#opened === undefined) {
      const { informers } = this.#options;
      this.#opened = { ConfigMap: informers.get(configMaps), Secret: informers.get(secrets) };
      this.#follow("ConfigMap", this.#opened.ConfigMap);
      this.#follow("Secret", this.#opened.Secret);
    }
    return this.#opened;
  }

  #follow(kind: string, informer: Informer<ConfigMap> | Informer<Secret>): void {
    const subscription = (informer as Informer).subscribe(({ deltas, initial }) => {
      if (initial) return;
      for (const { key } of deltas) this.#options.onChange(`${kind}/${key}`);
    });
    this.#cleanup.use(subscription);
  }

  async #refreshOne<T extends ConfigMap | Secret>(
    resource: Resource<T>,
    informer: Informer<T>,
    pod: Pod,
    name: string,
  ): Promise<void> {
    const namespace = pod.metadata?.namespace ?? "";
    try {
      const found = await this.#options.client.get(resource, { namespace, name });
      informer.applyLiveRead([[`${namespace}/${name}`, found]], found.metadata?.resourceVersion ?? "0");
    } catch (error) {
      // The volume or variable that needs the object reports that it is missing.
      if (!isReason(error, "NotFound")) throw error;
    }
  }
}

/** A digest of the Pod's labels and annotations, if a volume contains them. */
function ownFields({ spec, metadata }: Pod): string[] {
  const shows = spec?.volumes?.some(
    ({ downwardAPI, projected }) => downwardAPI !== undefined || projected?.sources?.some((one) => one.downwardAPI),
  );
  if (!shows) return [];
  const { labels, annotations } = metadata ?? {};
  return [createHash("sha256").update(JSON.stringify({ labels, annotations })).digest("hex").slice(0, 16)];
}
