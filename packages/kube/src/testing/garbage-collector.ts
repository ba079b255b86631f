import type { Scheduler } from "../queue/scheduler.ts";
import type { KubeObject } from "../resource.ts";
import type { ServedResource } from "./api-call.ts";
import type { ObjectLog } from "./object-log.ts";

export interface GarbageCollectorOptions {
  readonly scheduler: Scheduler;
  readonly remove: (resource: ServedResource, object: KubeObject) => void;
}

/** Deletes objects whose owners are all gone, in the background. */
export function collectGarbage(log: ObjectLog, { scheduler, remove }: GarbageCollectorOptions): void {
  let isPlanned = false;
  log.listen(({ object, gone }) => {
    const couldBeGarbage = gone || object.metadata?.ownerReferences !== undefined;
    if (isPlanned || !couldBeGarbage) return;
    isPlanned = true;
    scheduler.schedule(0, () => {
      isPlanned = false;
      for (const [resource, orphan] of findOrphans(log)) remove(resource, orphan);
    });
  });
}

function findOrphans(log: ObjectLog): [ServedResource, KubeObject][] {
  const all = [...log.all()];
  const alive = new Set(all.map(([, object]) => object.metadata?.uid));
  return all.filter(([, { metadata }]) => {
    const owners = metadata?.ownerReferences ?? [];
    return owners.length > 0 && metadata?.deletionTimestamp === undefined && !owners.some(({ uid }) => alive.has(uid));
  });
}
