import { type Client, Controller, Fence, Informers, type Logger } from "@agent-sandbox/kube";
import { persistentVolumes } from "../resources.ts";
import type { PersistentVolume } from "./local-volume.ts";
import { type Protection, protectionOf, protectionPatch, volumeProtection } from "./protection.ts";

/** Keeps deleted PersistentVolumes while they are bound, like Kubernetes' pv-protection controller. */
export class VolumeProtection implements AsyncDisposable {
  readonly #owned = new AsyncDisposableStack();

  constructor({ client, log }: { readonly client: Client; readonly log: Logger }) {
    const informers = this.#owned.use(new Informers({ client, log }));
    const volumes = informers.get(persistentVolumes);
    this.#owned.use(
      Controller.start({
        name: "pv-protection",
        client,
        fence: new Fence({ informers }),
        workers: 1,
        primary: volumes,
        log,
        reconcile: async (name, pass) => {
          const volume = volumes.get(name);
          const change = volume === undefined ? "none" : volumeChange(volume);
          if (volume === undefined || change === "none") return;
          await pass.client.patch(persistentVolumes, { name }, protectionPatch(volume, volumeProtection, change));
        },
      }),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

export function volumeChange(volume: PersistentVolume): Protection {
  const change = protectionOf(volume, volumeProtection);
  return change === "remove" && volume.status?.phase === "Bound" ? "none" : change;
}
