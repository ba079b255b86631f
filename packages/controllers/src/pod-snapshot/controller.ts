import {
  type PodSnapshot,
  type PodSnapshotManualTrigger,
  type PodSnapshotManualTriggerStatus,
  type PodSnapshotStatus,
  podSnapshots,
  podSnapshotTriggers,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import { Controller, controllerKey, isReason, objectKey, reconciler, watching } from "@agent-sandbox/kube";
import type { ControllerContext } from "../controller-context.ts";
import { guardOf, ignoreNotFound, placeOf } from "../guard.ts";
import { ignoreConflict, writeStatus } from "../write-status.ts";
import { decideTrigger, type TriggerAction } from "./decide-trigger.ts";
import { decideView, type ObservedView, type ViewAction } from "./decide-view.ts";
import { type Caches, type ObservedTrigger, observeTrigger, openCaches, snapshotName, snapshotOf } from "./observe.ts";

/**
 * Serves clients of GKE's Pod snapshots: turns each PodSnapshotManualTrigger into a SandboxSnapshot of depth Memory, and shows it as
 * a PodSnapshot. For installations where nobody else serves these kinds.
 */
export function startPodSnapshotControllers(context: ControllerContext): readonly Controller[] {
  const caches = openCaches(context.informers);
  return [startTriggerController(context, caches), startViewController(context, caches)];
}

function startTriggerController({ informers, fence, log, scheduler }: ControllerContext, caches: Caches): Controller {
  const byName = caches.triggers.index("snapshot", (trigger) => [
    `${trigger.metadata.namespace ?? ""}/${snapshotName(trigger)}`,
  ]);
  const triggersOf = (view: { readonly metadata?: object }): string[] => byName.get(objectKey(view)).map(objectKey);
  return Controller.start({
    name: "podsnapshottrigger",
    client: informers.client,
    fence,
    workers: 2,
    primary: caches.triggers,
    triggers: [watching(caches.snapshots, triggersOf), watching(caches.views, triggersOf)],
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    reconcile: reconciler<
      PodSnapshotManualTrigger,
      ObservedTrigger,
      TriggerAction,
      PodSnapshotManualTriggerStatus,
      undefined
    >({
      primary: caches.triggers,
      initialMemory: () => undefined,
      observe: (key) => observeTrigger(key, caches),
      decide: decideTrigger,
      // The caches show the effect, which triggers the next pass.
      perform: async (action, observed, { client, signal }) => {
        await (action.do === "create-view"
          ? client.create(podSnapshots, action.view, { signal })
          : client.create(sandboxSnapshots, action.snapshot, { signal })
        ).catch(ignoreExisting);
        return observed;
      },
      writeStatus: (status, { trigger }, pass) =>
        writeStatus(podSnapshotTriggers, trigger, status, pass).catch(ignoreConflict),
      ...(scheduler && { scheduler }),
    }),
  });
}

function ignoreExisting(error: unknown): undefined {
  if (!isReason(error, "AlreadyExists")) throw error;
  return undefined;
}

function startViewController({ informers, fence, log, scheduler }: ControllerContext, caches: Caches): Controller {
  return Controller.start({
    name: "podsnapshot",
    client: informers.client,
    fence,
    workers: 2,
    primary: caches.views,
    triggers: [
      watching(caches.snapshots, (snapshot) => {
        const owner = controllerKey(snapshot, podSnapshots);
        return owner === undefined ? [] : [owner];
      }),
    ],
    ...(log && { log }),
    ...(scheduler && { scheduler }),
    reconcile: reconciler<PodSnapshot, ObservedView, ViewAction, PodSnapshotStatus, undefined>({
      primary: caches.views,
      initialMemory: () => undefined,
      observe: (key) => {
        const view = caches.views.get(key);
        return view && { view, snapshot: snapshotOf(view, caches) };
      },
      decide: decideView,
      perform: async (_action, observed, { client, signal }) => {
        const { view } = observed;
        const options = { preconditions: guardOf(view), signal };
        await client.delete(podSnapshots, placeOf(view), options).catch(ignoreNotFound);
        return observed;
      },
      writeStatus: (status, { view }, pass) => writeStatus(podSnapshots, view, status, pass).catch(ignoreConflict),
      ...(scheduler && { scheduler }),
    }),
  });
}
