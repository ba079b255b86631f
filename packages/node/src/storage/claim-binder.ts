import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
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
import { amountOf } from "../oci/quantity.ts";
import type { Machine } from "../pod/machine.ts";
import { persistentVolumes, pods, storageClasses, volumeClaims } from "../resources.ts";
import { limitFolder } from "../system/project-quota.ts";
import { claimsOf, runningUserOf } from "./claim-users.ts";
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
import { claimProtection, protectionPatch } from "./protection.ts";
import { VolumeProtection } from "./volume-protection.ts";

export interface ClaimBinderOptions {
  readonly client: Client;
  readonly machine: Pick<Machine, "layout" | "records" | "trash">;
  readonly log: Logger;
  readonly events?: Pick<EventRecorder, "record">;
}

/** Provisions a folder of this machine for each claim of the class `local`, and removes it when the claim is deleted. */
export class ClaimBinder implements AsyncDisposable {
  readonly #options: ClaimBinderOptions;
  readonly #owned = new AsyncDisposableStack();
  /** Resolves when the controller is running and the storage class exists. */
  readonly ready: Promise<void>;

  constructor(options: ClaimBinderOptions) {
    this.#options = options;
    const { client, log } = options;
    this.#owned.use(new VolumeProtection({ client, log }));
    const informers = this.#owned.use(new Informers({ client, log }));
    const claims = informers.get(volumeClaims);
    const volumes = informers.get(persistentVolumes);
    const byClaim = volumes.index("claim", claimKeysOf);
    const allPods = informers.get(pods);
    const users = allPods.index("claim", claimsOf);
    const controller = this.#owned.use(
      Controller.start({
        name: "claim-binder",
        client,
        fence: new Fence({ informers }),
        workers: 4,
        primary: claims,
        triggers: [watching(volumes, claimKeysOf), watching(allPods, claimsOf)],
        log,
        reconcile: async (key, pass) => {
          const state = { claim: claims.get(key), volumes: byClaim.get(key) };
          let isHeld = false;
          for (const action of decideClaim(state)) {
            // The deletion of the Pod triggers another pass.
            if (action.do === "unprotect" && users.get(key).length > 0) continue;
            isHeld = (await this.#perform(pass.client, key, state.claim, action)) === "held" || isHeld;
          }
          return isHeld ? { requeueAfterMs: heldMs } : undefined;
        },
      }),
    );
    this.ready = Promise.all([controller.ready, this.#createStorageClass()]).then(() => undefined);
    this.ready.catch((error: unknown) => log.warn({ err: error }, "cannot start the provisioner of local volumes"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #createStorageClass(): Promise<void> {
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
  ): Promise<"held" | undefined> {
    if (action.do === "reclaim") return this.#reclaim(client, key, action.volume);
    if (claim === undefined) return undefined;
    if (action.do === "unprotect") return this.#unprotect(client, key, claim);
    if (action.do === "protect") return protect(client, claim, "add");
    if (action.do === "provision") return this.#provision(client, claim);
    if (action.do === "bind") return this.#bind(client, claim);
    this.#options.events?.record(volumeClaims, claim, {
      type: "Warning",
      reason: "ProvisioningFailed",
      action: "Provisioning",
      text: `Cannot provision a volume: ${action.why}`,
    });
    return undefined;
  }

  async #provision(client: Client, claim: PersistentVolumeClaim): Promise<undefined> {
    const { layout } = this.#options.machine;
    const folder = claimFolder(layout, claim.metadata?.uid ?? "");
    // Any user of a sandbox may write to it, as to an emptyDir.
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
      text: `The filesystem of "${layout.dataDir}" has no project quotas: the volume can grow beyond ${requested(claim)}, and an event reports it`,
    });
  }

  /** Binds the claim, and applies its new size if it was expanded. */
  async #bind(client: Client, claim: PersistentVolumeClaim): Promise<undefined> {
    const folder = claimFolder(this.#options.machine.layout, claim.metadata?.uid ?? "");
    if (existsSync(folder)) limitFolder(folder, amountOf(requested(claim)) ?? 0);
    await bind(client, claim);
  }

  /** Removes the finalizer unless a Pod uses the claim, or a deleted Pod that uses it still runs. */
  async #unprotect(client: Client, key: string, claim: PersistentVolumeClaim): Promise<"held" | undefined> {
    const { namespace = "", uid = "" } = claim.metadata ?? {};
    const folder = claimFolder(this.#options.machine.layout, uid);
    if ((await runningUserOf(this.#options.machine.records, { folder, namespace })) !== undefined) return "held";
    // A live list, because the cache may not have a new Pod yet.
    const { items } = await client.list(pods, { namespace });
    return items.some((pod) => claimsOf(pod).includes(key)) ? "held" : protect(client, claim, "remove");
  }

  /**
   * Removes a volume and its files, unless a Pod that uses it still runs: users may remove the claim's finalizer themselves.
   * A Pod that starts later finds no claim, and waits.
   */
  async #reclaim(client: Client, key: string, volume: PersistentVolume): Promise<"held" | undefined> {
    const { layout, records, trash } = this.#options.machine;
    const folder = claimFolder(layout, volume.spec?.claimRef?.uid ?? "");
    const { namespace = "" } = parseKey(key);
    if ((await runningUserOf(records, { folder, namespace })) !== undefined) return "held";
    await trash.discard(folder);
    const name = { name: volume.metadata?.name ?? "" };
    try {
      const released = { type: "merge", body: { status: { phase: "Released" } } } as const;
      await client.patch(persistentVolumes, name, released, { subresource: "status" });
      await client.delete(persistentVolumes, name);
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
    }
    return undefined;
  }
}

/** The interval of checks for a running Pod that is deleted from the API: its end triggers no event. */
const heldMs = 1000;

async function protect(client: Client, claim: PersistentVolumeClaim, change: "add" | "remove"): Promise<undefined> {
  const { namespace = "", name = "" } = claim.metadata ?? {};
  await client.patch(volumeClaims, { namespace, name }, protectionPatch(claim, claimProtection, change));
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

/** The claim of a volume that this node created. Its name, like its folder, must be that of the claim's UID. */
function claimKeysOf({ spec, metadata }: PersistentVolume): string[] {
  const { namespace, name, uid = "" } = spec?.claimRef ?? {};
  const isProvisioned = metadata?.annotations?.["pv.kubernetes.io/provisioned-by"] === provisioner;
  const isMadeHere = isProvisioned && metadata.name === volumeNameOf(uid);
  return isMadeHere && namespace !== undefined && name !== undefined ? [`${namespace}/${name}`] : [];
}
