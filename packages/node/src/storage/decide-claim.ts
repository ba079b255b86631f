import type { PersistentVolumeClaim } from "@agent-sandbox/api";
import { compareQuantities } from "@agent-sandbox/api";
import { localClass, type PersistentVolume, type Quantities, requested, volumeNameOf } from "./local-volume.ts";
import { claimProtection, protectionOf } from "./protection.ts";

export interface ClaimState {
  /** The claim with the key, or `undefined` if it does not exist. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Volumes that this node created for claims with that key, this one or earlier ones. */
  readonly volumes: readonly PersistentVolume[];
}

export type ClaimAction =
  /** Create the folder and its volume. */
  | { readonly do: "provision" }
  /** Write the binding and the size to both objects. */
  | { readonly do: "bind"; readonly volume: PersistentVolume | undefined }
  /** Delete a volume whose claim no longer exists, with its files. */
  | { readonly do: "reclaim"; readonly volume: PersistentVolume }
  /** Add the finalizer that keeps a claim while a Pod uses it. */
  | { readonly do: "protect" }
  /** Remove the finalizer of a claim that is being deleted, once no Pod uses it. */
  | { readonly do: "unprotect" }
  /** Record an event that says why the claim gets no volume. */
  | { readonly do: "refuse"; readonly why: string };

/** Decides the actions for a claim, and for the volumes of earlier claims with the same name. */
export function decideClaim({ claim, volumes }: ClaimState): ClaimAction[] {
  const uid = claim?.metadata?.uid;
  const left = volumes.filter(
    ({ spec }) => spec?.claimRef?.uid !== uid && spec?.persistentVolumeReclaimPolicy !== "Retain",
  );
  const reclaims = left.map((volume): ClaimAction => ({ do: "reclaim", volume }));
  if (claim === undefined || uid === undefined) return reclaims;
  const protection = protectionOf(claim, claimProtection);
  if (protection === "remove") return [...reclaims, { do: "unprotect" }];
  if (claim.metadata?.deletionTimestamp !== undefined) return reclaims;
  if (protection === "add") reclaims.push({ do: "protect" });
  if (!isOurs(claim)) return reclaims;
  const why = refusal(claim);
  if (why !== undefined) return [...reclaims, { do: "refuse", why }];
  const own = volumes.find(({ spec }) => spec?.claimRef?.uid === uid);
  if (own === undefined) return [...reclaims, { do: "provision" }, { do: "bind", volume: undefined }];
  return isSettled(claim, own) ? reclaims : [...reclaims, { do: "bind", volume: own }];
}

/** Claims without a class get ours. An empty class name requests a volume that an administrator creates. */
function isOurs({ spec, metadata }: PersistentVolumeClaim): boolean {
  if ((spec?.storageClassName ?? localClass) !== localClass) return false;
  const volume = spec?.volumeName ?? "";
  return volume === "" || volume === volumeNameOf(metadata?.uid ?? "");
}

function refusal({ spec }: PersistentVolumeClaim): string | undefined {
  if ((spec?.volumeMode ?? "Filesystem") !== "Filesystem") return "volumeMode: local volumes support Filesystem only";
  const source = spec?.dataSourceRef ?? spec?.dataSource;
  return source === undefined ? undefined : "dataSource: local volumes cannot be created from a source";
}

function isSettled(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const { phase, capacity } = claim.status ?? {};
  const bound = phase === "Bound" && claim.spec?.volumeName === volume.metadata?.name;
  return bound && volume.status?.phase === "Bound" && !isLarger(requested(claim), capacity);
}

const isLarger = (wanted: string, capacity: Quantities | undefined): boolean =>
  compareQuantities(wanted, capacity?.["storage"] ?? "0") === 1;
