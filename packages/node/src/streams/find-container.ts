import { type ContainerPlace, KubeError, type PodPlace } from "@agent-sandbox/kube";
import type { Machine } from "../pod/machine.ts";
import { isBeingSaved } from "../pod/plan-save.ts";
import type { ContainerRecord, PodRecord } from "../pod/record.ts";

export interface StreamOptions {
  readonly machine: Machine;
  /** The UID of a Pod that this node runs. */
  readonly uidOf: (namespace: string, pod: string) => string | undefined;
}

export interface FoundContainer {
  readonly uid: string;
  readonly name: string;
  readonly kept: ContainerRecord;
  readonly isBeingSaved: boolean;
}

/** The error message begins with `Cannot <action> Pod "ns/name"`. */
export async function findPod({ machine, uidOf }: StreamOptions, place: PodPlace, action: string): Promise<PodRecord> {
  const uid = uidOf(place.namespace, place.pod);
  const record = uid === undefined ? undefined : await machine.records.read(uid);
  if (record !== undefined) return record;
  throw new KubeError(
    "NotFound",
    `Cannot ${action} Pod "${place.namespace}/${place.pod}": it does not run on this node`,
  );
}

export async function findContainer(
  options: StreamOptions,
  place: ContainerPlace,
  action: string,
): Promise<FoundContainer> {
  const record = await findPod(options, place, action);
  const { uid, containers, defaultContainer = "" } = record;
  const name = place.container ?? defaultContainer;
  const kept = Object.hasOwn(containers, name) ? containers[name] : undefined;
  if (kept !== undefined) return { uid, name, kept, isBeingSaved: isBeingSaved(record) };
  throw new KubeError(
    "BadRequest",
    `Cannot ${action} Pod "${place.namespace}/${place.pod}": container "${name}" has not been created`,
  );
}
