import type { PersistentVolumeClaim } from "@agent-sandbox/api";
import { compareQuantities } from "@agent-sandbox/api";
import { localClass, type PersistentVolume, type Quantities, requested, volumeNameOf } from "./local-volume.ts";
import { claimProtection, protectionOf } from "./protection.ts";

export interface ClaimState {
  /** The claim of the key; `undefined` when there is none, or none any more. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Volumes made here for claims of that key, this one or earlier ones. */
  readonly volumes: readonly PersistentVolume[];
}

export type ClaimAction =
  /** Make the folder and its volume. */
  | { readonly do: "provision" }
  /** Say in both objects that they belong together, and how large the claim is now. */
  | { readonly do: "bind"; readonly volume: PersistentVolume | undefined }
  /** Drop a volume whose claim is gone, and what is in it. */
  | { readonly do: "reclaim"; readonly volume: PersistentVolume }
  /** Put the finalizer back that keeps a claim while a Pod uses it. */
  | { readonly do: "protect" }
  /** Let a claim go that is being deleted, once no Pod uses it. */
  | { readonly do: "let-go" }
  /** Tell why nothing comes of the claim. */
  | { readonly do: "refuse"; readonly why: string };

/** What is to be done about a claim, and about what earlier claims of its name have left. */
export function decideClaim({ claim, volumes }: ClaimState): ClaimAction[] {
  const uid = claim?.metadata?.uid;
  const left = volumes.filter(
    ({ spec }) => spec?.claimRef?.uid !== uid && spec?.persistentVolumeReclaimPolicy !== "Retain",
  );
  const reclaims = left.map((volume): ClaimAction => ({ do: "reclaim", volume }));
  if (claim === undefined || uid === undefined) return reclaims;
  const protection = protectionOf(claim, claimProtection);
  if (protection === "remove") return [...reclaims, { do: "let-go" }];
  if (claim.metadata?.deletionTimestamp !== undefined) return reclaims;
  if (protection === "add") reclaims.push({ do: "protect" });
  if (!isOurs(claim)) return reclaims;
  const why = refusal(claim);
  if (why !== undefined) return [...reclaims, { do: "refuse", why }];
  const own = volumes.find(({ spec }) => spec?.claimRef?.uid === uid);
  if (own === undefined) return [...reclaims, { do: "provision" }, { do: "bind", volume: undefined }];
  return isSettled(claim, own) ? reclaims : [...reclaims, { do: "bind", volume: own }];
}

/** Claims that name no class get ours; an empty name asks for a volume that somebody else makes. */
function isOurs({ spec, metadata }: PersistentVolumeClaim): boolean {
  if ((spec?.storageClassName ?? localClass) !== localClass) return false;
  const volume = spec?.volumeName ?? "";
  return volume === "" || volume === volumeNameOf(metadata?.uid ?? "");
}

function refusal({ spec }: PersistentVolumeClaim): string | undefined {
  if ((spec?.volumeMode ?? "Filesystem") !== "Filesystem") return "volumeMode: local volumes are folders, not devices";
  const source = spec?.dataSourceRef ?? spec?.dataSource;
  return source === undefined ? undefined : "dataSource: local volumes begin empty";
}

function isSettled(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const { phase, capacity } = claim.status ?? {};
  const bound = phase === "Bound" && claim.spec?.volumeName === volume.metadata?.name;
  return bound && volume.status?.phase === "Bound" && !isLarger(requested(claim), capacity);
}

const isLarger = (wanted: string, capacity: Quantities | undefined): boolean =>
  compareQuantities(wanted, capacity?.["storage"] ?? "0") === 1;
