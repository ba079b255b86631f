import { conflict, forbidden, notFound } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import { equalJson } from "../json.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import { withRevision } from "../resources/admission.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Decided, Stored } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { isGone } from "./delete-rules.ts";

/** The object after the request, in the stored version. `gone`: it was removed rather than marked for deletion. */
export interface Deleted {
  readonly object: ApiObject;
  readonly gone: boolean;
}

export async function remove(context: ApiContext, target: ObjectTarget, options: DeleteOptions): Promise<Deleted> {
  const { definition } = target;
  const key = keyOfTarget(target);
  return context.store.write((view, revision): Decided<Deleted> => {
    const old = view.get(definition.id, key);
    if (old === undefined) throw notFound(subjectOf(target, target.name));
    checkPreconditions(target, old, options);
    const problem = definition.strategy.deletionProblem?.(old.object);
    if (problem !== undefined) throw forbidden(subjectOf(target, target.name), problem);
    const next = markForDeletion(definition, old.object, { ...options, nowMs: context.clock.now() });
    const gone = next === undefined || isGone(definition, next);
    const object = gone ? (next ?? old.object) : withRevision(next, revision);
    if (options.dryRun === true || next === old.object) return { result: { object, gone } };
    return { write: { resource: definition.id, key, object: gone ? undefined : object }, result: { object, gone } };
  });
}

function checkPreconditions(target: ObjectTarget, { object }: Stored, { uid, resourceVersion }: DeleteOptions): void {
  const { uid: ownUid = "", resourceVersion: ownVersion = "" } = object.metadata;
  if (uid !== undefined && uid !== ownUid) {
    throw mismatch(target, { what: "UID", wanted: uid, found: ownUid, why: "deleted and then recreated" });
  }
  if (resourceVersion !== undefined && resourceVersion !== ownVersion) {
    throw mismatch(target, { what: "ResourceVersion", wanted: resourceVersion, found: ownVersion, why: "modified" });
  }
}

interface Mismatch {
  readonly what: string;
  readonly wanted: string;
  readonly found: string;
  readonly why: string;
}

/** kube-apiserver has two messages for this: that for most kinds names the kind instead of the resource. */
function mismatch({ definition, name }: ObjectTarget, { what, wanted, found, why }: Mismatch): Error {
  const { kind, plural, strategy, versions } = definition;
  const subject = { group: versions[0].group, plural, name };
  if (strategy.marksTimeAlone === true) {
    return conflict(
      subject,
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
    );
  }
  return conflict(
    { ...subject, plural: kind },
    `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found}). The object might have been ${why}`,
  );
}

type DeletionAt = DeleteOptions & { readonly nowMs: number };

/**
 * The object marked for deletion. The same object if the request changes nothing; `undefined` if neither finalizers nor a
 * grace period keep it, so that it is removed at once.
 */
function markForDeletion(
  definition: ResourceDefinition,
  object: ApiObject,
  options: DeletionAt,
): ApiObject | undefined {
  const { strategy } = definition;
  if (object.metadata.deletionTimestamp !== undefined) return markAgain(definition, object, options);
  const finalizers = finalizersFor(definition, object, options);
  const kept = finalizers.length > 0 || strategy.graceSeconds !== undefined || strategy.markDeleted !== undefined;
  if (!kept) return undefined;
  const grace = strategy.graceSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const { generation } = object.metadata;
  const next = withMetadata(object, {
    deletionTimestamp: timestamp(options.nowMs + grace * 1000),
    ...(strategy.marksTimeAlone === true
      ? {}
      : { deletionGracePeriodSeconds: grace, ...(generation === undefined ? {} : { generation: generation + 1 }) }),
    ...(finalizers.length === 0 ? {} : { finalizers }),
  });
  return strategy.markDeleted?.(next) ?? next;
}

/** A second deletion can only shorten the grace period. When that is over, it can change the propagation policy. */
function markAgain(definition: ResourceDefinition, object: ApiObject, options: DeletionAt): ApiObject {
  const { deletionTimestamp = "", deletionGracePeriodSeconds = 0 } = object.metadata;
  if (deletionGracePeriodSeconds === 0) {
    const finalizers = finalizersFor(definition, object, options);
    const same = equalJson(finalizers, object.metadata.finalizers ?? []);
    return same ? object : withMetadata(object, { finalizers });
  }
  const grace = definition.strategy.graceSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  if (grace >= deletionGracePeriodSeconds) return object;
  const startedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return withMetadata(object, {
    deletionTimestamp: timestamp(startedMs + grace * 1000),
    deletionGracePeriodSeconds: grace,
  });
}

function finalizersFor({ strategy }: ResourceDefinition, { metadata }: ApiObject, options: DeleteOptions): string[] {
  const { finalizers = [] } = metadata;
  return strategy.ownsNothing === true ? [...finalizers] : withPropagation(finalizers, options.propagation);
}

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** Stores the propagation policy as a finalizer. The garbage collector removes it when the dependents are handled. */
function withPropagation(finalizers: readonly string[], propagation: DeleteOptions["propagation"]): string[] {
  const others = finalizers.filter((each) => each !== orphanFinalizer && each !== foregroundFinalizer);
  if (propagation === "Orphan") return [...others, orphanFinalizer];
  if (propagation === "Foreground") return [...others, foregroundFinalizer];
  return propagation === "Background" ? others : [...finalizers];
}
