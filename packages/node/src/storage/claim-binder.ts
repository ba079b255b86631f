import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import type { PersistentVolumeClaim } from "@agent-sandbox/api";
import {
  type Client,
  Controller,
  type EventRecorder,
  Fence,
  Informers,
  isReason,
  type Logger,
  parseKey,
  watching,
} from "@agent-sandbox/kube";
import type { Layout } from "../layout.ts";
import { amountOf } from "../oci/quantity.ts";
import { persistentVolumes, pods, storageClasses, volumeClaims } from "../resources.ts";
import { limitFolder } from "../system/project-quota.ts";
import { type ClaimAction, decideClaim } from "./decide-claim.ts";
import {
  claimFolder,
  localClass,
  type PersistentVolume,
  provisioner,
  requested,
  volumeFor,
  volumeNameOf,
} from "./local-volume.ts";

export interface ClaimBinderOptions {
  readonly client: Client;
  readonly layout: Layout;
  readonly log: Logger;
  readonly events?: Pick<EventRecorder, "record">;
}

/** Gives each claim of the class `local` a folder of this machine at once, and takes it back when the claim goes. */
export class ClaimBinder implements AsyncDisposable {
  readonly #options: ClaimBinderOptions;
  readonly #owned = new AsyncDisposableStack();
  /** Settles when claims are looked after. */
  readonly ready: Promise<void>;

  constructor(options: ClaimBinderOptions) {
    this.#options = options;
    const { client, log } = options;
    const informers = this.#owned.use(new Informers({ client, log }));
    const claims = informers.get(volumeClaims);
    const volumes = informers.get(persistentVolumes);
    const byClaim = volumes.index("claim", claimKeysOf);
    const controller = this.#owned.use(
      Controller.start({
        name: "claim-binder",
        client,
        fence: new Fence({ informers }),
        workers: 4,
        primary: claims,
        triggers: [watching(volumes, claimKeysOf)],
        log,
        reconcile: async (key, pass) => {
          const state = { claim: claims.get(key), volumes: byClaim.get(key) };
          for (const action of decideClaim(state)) await this.#perform(pass.client, key, state.claim, action);
        },
      }),
    );
    this.ready = Promise.all([controller.ready, this.#offerClass()]).then(() => undefined);
    this.ready.catch((error: unknown) => log.warn({ err: error }, "local volumes are not offered"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #offerClass(): Promise<void> {
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    const settings = {
      provisioner,
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      allowVolumeExpansion: true,
    };
    try {
      await this.#options.client.create(storageClasses, { metadata: { name: localClass, annotations }, ...settings });
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
    }
  }

  async #perform(
    client: Client,
    key: string,
    claim: PersistentVolumeClaim | undefined,
    action: ClaimAction,
  ): Promise<void> {
    if (action.do === "reclaim") return this.#reclaim(client, key, action.volume);
    if (claim === undefined) return;
    if (action.do === "provision") return this.#provision(client, claim);
    if (action.do === "bind") return this.#bind(client, claim);
    this.#options.events?.record(volumeClaims, claim, {
      type: "Warning",
      reason: "ProvisioningFailed",
      action: "Provisioning",
      text: `Cannot make a volume: ${action.why}`,
    });
  }

  async #provision(client: Client, claim: PersistentVolumeClaim): Promise<void> {
    const { layout } = this.#options;
    const folder = claimFolder(layout, claim.metadata?.uid ?? "");
    // Any user of a sandbox may write to it, as to an empty folder of its own.
    await mkdir(folder, { recursive: true, mode: 0o777 });
    const enforced = limitFolder(folder, amountOf(requested(claim)) ?? 0);
    await client.create(persistentVolumes, volumeFor(claim, layout, enforced)).catch((error: unknown) => {
      if (!isReason(error, "AlreadyExists")) throw error;
    });
    if (enforced) return;
    this.#options.events?.record(volumeClaims, claim, {
      type: "Normal",
      reason: "SizeNotEnforced",
      action: "Provisioning",
      text: `The filesystem of "${layout.dataDir}" has no project quotas: the volume can grow beyond ${requested(claim)}, which is told`,
    });
  }

  /** A claim that has grown may hold more from then on. */
  async #bind(client: Client, claim: PersistentVolumeClaim): Promise<void> {
    const folder = claimFolder(this.#options.layout, claim.metadata?.uid ?? "");
    if (existsSync(folder)) limitFolder(folder, amountOf(requested(claim)) ?? 0);
    await bind(client, claim);
  }

  /** Not while a Pod uses it, whose claim may have been deleted under it. */
  async #reclaim(client: Client, key: string, volume: PersistentVolume): Promise<void> {
    const uid = volume.spec?.claimRef?.uid ?? "";
    const { namespace = "", name } = parseKey(key);
    const { items } = await client.list(pods, { namespace });
    const user = items.find(({ spec, status }) => {
      const ended = status?.phase === "Succeeded" || status?.phase === "Failed";
      return !ended && spec?.volumes?.some((one) => one.persistentVolumeClaim?.claimName === name);
    });
    if (user !== undefined)
      throw new Error(`Cannot reclaim volume of claim "${key}": Pod "${user.metadata?.name}" uses it`);
    await rm(claimFolder(this.#options.layout, uid), { recursive: true, force: true });
    await client.delete(persistentVolumes, { name: volume.metadata?.name ?? "" }).catch((error: unknown) => {
      if (!isReason(error, "NotFound")) throw error;
    });
  }
}

async function bind(client: Client, claim: PersistentVolumeClaim): Promise<void> {
  const { namespace = "", name = "", uid = "" } = claim.metadata ?? {};
  const volume = { name: volumeNameOf(uid) };
  const capacity = { storage: requested(claim) };
  const merge = (body: object): { type: "merge"; body: object } => ({ type: "merge", body });
  await client.patch(persistentVolumes, volume, merge({ spec: { capacity } }));
  await client.patch(persistentVolumes, volume, merge({ status: { phase: "Bound" } }), { subresource: "status" });
  const annotations = { "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes" };
  const key = { namespace, name };
  const bound = { metadata: { uid, annotations }, spec: { volumeName: volume.name } };
  await client.patch(volumeClaims, key, merge(bound));
  const status = { phase: "Bound", accessModes: claim.spec?.accessModes ?? ["ReadWriteOnce"], capacity };
  await client.patch(volumeClaims, key, merge({ metadata: { uid }, status }), { subresource: "status" });
}

function claimKeysOf({ spec, metadata }: PersistentVolume): string[] {
  const { namespace, name } = spec?.claimRef ?? {};
  const made = metadata?.annotations?.["pv.kubernetes.io/provisioned-by"] === provisioner;
  return made && namespace !== undefined && name !== undefined ? [`${namespace}/${name}`] : [];
}
