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

/** Gives each claim of the class `local` a folder of this machine at once, and takes it back when the claim goes. */
export class ClaimBinder implements AsyncDisposable {
  readonly #options: ClaimBinderOptions;
  readonly #owned = new AsyncDisposableStack();
  /** Settles when claims are looked after. */
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
            // The Pod's end is an event that wakes this key.
            if (action.do === "let-go" && users.get(key).length > 0) continue;
            isHeld = (await this.#perform(pass.client, key, state.claim, action)) === "held" || isHeld;
          }
          return isHeld ? { requeueAfterMs: heldMs } : undefined;
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
  ): Promise<"held" | undefined> {
    if (action.do === "reclaim") return this.#reclaim(client, key, action.volume);
    if (claim === undefined) return undefined;
    if (action.do === "let-go") return this.#letGo(client, key, claim);
    if (action.do === "protect") return protect(client, claim, "add");
    if (action.do === "provision") return this.#provision(client, claim);
    if (action.do === "bind") return this.#bind(client, claim);
    this.#options.events?.record(volumeClaims, claim, {
      type: "Warning",
      reason: "ProvisioningFailed",
      action: "Provisioning",
      text: `Cannot make a volume: ${action.why}`,
    });
    return undefined;
  }

  async #provision(client: Client, claim: PersistentVolumeClaim): Promise<undefined> {
    const { layout } = this.#options.machine;
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
  async #bind(client: Client, claim: PersistentVolumeClaim): Promise<undefined> {
    const folder = claimFolder(this.#options.machine.layout, claim.metadata?.uid ?? "");
    if (existsSync(folder)) limitFolder(folder, amountOf(requested(claim)) ?? 0);
    await bind(client, claim);
  }

  /** The claim is kept while a Pod that exists uses it, or one that is deleted and still runs. */
  async #letGo(client: Client, key: string, claim: PersistentVolumeClaim): Promise<"held" | undefined> {
    const { namespace = "", uid = "" } = claim.metadata ?? {};
    const folder = claimFolder(this.#options.machine.layout, uid);
    if ((await runningUserOf(this.#options.machine.records, { folder, namespace })) !== undefined) return "held";
    // Live: the cache may not have seen a new Pod yet.
    const { items } = await client.list(pods, { namespace });
    return items.some((pod) => claimsOf(pod).includes(key)) ? "held" : protect(client, claim, "remove");
  }

  /**
   * Not while a Pod runs with it: users may remove the claim's finalizer themselves. A Pod that begins later finds no
   * claim, and waits.
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

/** How soon to look again for the end of a Pod that is gone from the API: no event tells it. */
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

/** Of volumes made here: their names come from their claims' UIDs, and so do their folders. */
function claimKeysOf({ spec, metadata }: PersistentVolume): string[] {
  const { namespace, name, uid = "" } = spec?.claimRef ?? {};
  const isProvisioned = metadata?.annotations?.["pv.kubernetes.io/provisioned-by"] === provisioner;
  const isMadeHere = isProvisioned && metadata.name === volumeNameOf(uid);
  return isMadeHere && namespace !== undefined && name !== undefined ? [`${namespace}/${name}`] : [];
}
