import { conflict, type ErrorSubject, invalid, notFound } from "../api-error.ts";
import { type ApiObject, withMetadata } from "../api-object.ts";
import { withoutIdleTimes } from "../apply/idle-times.ts";
import { equalJson } from "../json.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import { toStoredVersion, withRevision } from "../resources/admission.ts";
import type { Strategy } from "../resources/definition.ts";
import { updatedMetadata } from "../resources/metadata.ts";
import { toStorage, toVersion } from "../resources/versions.ts";
import type { Decided, Stored, View } from "../store/store.ts";
import { type ApiContext, admissionContext } from "./context.ts";
import type { Written } from "./create.ts";
import { isGone } from "./delete-rules.ts";
import { usageCheck } from "./namespace-limits.ts";
import { recordOwner } from "./record-owner.ts";
import type { WriteOptions } from "./write-options.ts";

export interface Modification extends WriteOptions {
  /** Returns the wanted object for the current one, both in the version of the request. */
  wanted(current: ApiObject): ApiObject;
  /** Whether the client must send a resourceVersion. */
  readonly needsRevision: boolean;
  /** Whether `managedFields` are already set, as by an apply. Default: they are recorded here. */
  readonly hasManagedFields?: boolean;
  /** Whether the wanted object is the result of a patch. */
  readonly isPatch?: boolean;
  /** The subresource to record in `managedFields`. Default: that of the target. */
  readonly recordedFor?: "scale";
}

/** Changes one object or one of its subresources. Does not write when nothing changes. */
export async function modify(context: ApiContext, target: ObjectTarget, modification: Modification): Promise<Written> {
  return context.store.write((view, revision) => decideModification({ context, view, revision, target, modification }));
}

interface ModificationCall {
  readonly context: ApiContext;
  readonly view: View;
  readonly revision: number;
  readonly target: ObjectTarget;
  readonly modification: Modification;
}

export function decideModification(call: ModificationCall): Decided<Written> {
  const { context, view, revision, target, modification } = call;
  const { definition, version } = target;
  const key = keyOfTarget(target);
  const old = view.get(definition.id, key);
  if (old === undefined) throw notFound(subjectOf(target, target.name));
  const current = toVersion(definition, old.object, version);
  const given = modification.wanted(current);
  checkPreconditions(target, given, { old, needsRevision: modification.needsRevision });
  const fixed = definition.strategy.fixedSpec?.(target.name);
  const wanted = merged(target, fixed === undefined ? given : { ...given, spec: current["spec"] }, current);
  const { object: shaped, warnings: found } = context.admission.shape(target, wanted, modification, current);
  const isIgnored = fixed !== undefined && !equalJson(given["spec"], current["spec"]);
  const warnings = isIgnored ? [...found, fixed] : found;
  const unchanged: Decided<Written> = { result: { object: current, warnings, created: false } };
  if (equalJson(shaped, current)) return unchanged;

  const before = toStorage(definition, old.object);
  const next = withoutIdleTimes(prepare(call, { shaped, current, old: before }), before);
  context.admission.check(target, next, old.object);
  modification.refuse?.(next, old.object);
  if (equalJson(next, old.object)) return unchanged;
  const object = modification.dryRun ? next : withRevision(next, revision);
  const result = { object: toVersion(definition, object, version), warnings, created: false };
  if (modification.dryRun) return { result };
  const checkUsage = usageCheck(modification.limits, subjectOf(target, target.name));
  const kept = isGone(definition, object) ? undefined : object;
  return { write: { resource: definition.id, key, object: kept, checkUsage }, result };
}

function checkPreconditions(
  target: ObjectTarget,
  given: ApiObject,
  { old, needsRevision }: { old: Stored; needsRevision: boolean },
): void {
  const subject = subjectOf(target, target.name);
  const { uid, resourceVersion } = given.metadata;
  if (uid !== undefined && uid !== "" && uid !== old.object.metadata.uid)
    throw uidConflict(subject, uid, old.object.metadata.uid);
  if (resourceVersion === undefined || resourceVersion === "") {
    if (!needsRevision) return;
    const message = "Invalid value: 0: must be specified for an update";
    // kube-apiserver names the resource in this error, and the kind in all other errors about invalid objects.
    throw invalid(target.definition.plural, subject, [
      { field: "metadata.resourceVersion", reason: "FieldValueInvalid", message },
    ]);
  }
  if (resourceVersion !== String(old.revision)) throw modified(subject);
}

export function uidConflict(subject: ErrorSubject, wanted: string, found: string | undefined): Error {
  return conflict(subject, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`);
}

function modified(subject: ErrorSubject): Error {
  return conflict(
    subject,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

/** The current object with the part that the endpoint of the request may change: the status, another part, or the rest. */
function merged(target: ObjectTarget, given: ApiObject, current: ApiObject): ApiObject {
  const { definition, version, subresource = "" } = target;
  const part = definition.strategy.parts?.get(subresource);
  if (part !== undefined) {
    const { managedFields = current.metadata.managedFields } = given.metadata;
    const kept = managedFields === undefined ? current : withMetadata(current, { managedFields });
    return part.merge(given, kept);
  }
  if (subresource === "status") {
    if (definition.statusTakesMetadata) {
      const metadata = updatedMetadata(given.metadata, current.metadata);
      return withStatus({ ...current, metadata }, given["status"]);
    }
    const { managedFields = current.metadata.managedFields } = given.metadata;
    const metadata = managedFields === undefined ? current.metadata : { ...current.metadata, managedFields };
    return withStatus({ ...current, metadata }, given["status"]);
  }
  const metadata = updatedMetadata(given.metadata, current.metadata);
  return version.hasStatus ? withStatus({ ...given, metadata }, current["status"]) : { ...given, metadata };
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _status, ...rest } = object;
  return status === undefined || status === null ? rest : { ...rest, status };
}

interface Change {
  readonly shaped: ApiObject;
  /** The current object in the version of the request. */
  readonly current: ApiObject;
  /** The current object in the stored version. */
  readonly old: ApiObject;
}

function prepare({ context, target, modification }: ModificationCall, { shaped, current, old }: Change): ApiObject {
  const { definition, subresource = "" } = target;
  const { strategy, hasGeneration } = definition;
  const converted = toStoredVersion(definition, shaped);
  // An older version keeps fields of the status that it does not have in an annotation, which a request for the object can change.
  const isForObject = target.version.hasStatus && subresource === "";
  const stored = isForObject ? withStatus(converted, old["status"]) : converted;
  const filled = strategy.setDefaults?.(stored) ?? stored;
  const defaulted = strategy.parts?.get(subresource)?.setDefaults(filled) ?? filled;
  const { manager = "", hasManagedFields = false, recordedFor } = modification;
  const write = { context, target, manager, subresource: recordedFor, nowMs: context.clock.now(), live: current };
  const owned = hasManagedFields ? defaulted : recordOwner(write, defaulted);
  const admission = admissionContext(context);
  const isPart = strategy.parts?.has(subresource) === true;
  const prepared =
    (subresource === "status"
      ? strategy.prepareStatus?.(owned, old, admission)
      : isPart
        ? owned
        : strategy.prepareUpdate?.(owned, old, admission)) ?? owned;
  if (!hasGeneration || equalJson(countedPart(strategy, prepared), countedPart(strategy, old))) return prepared;
  const generation = (old.metadata.generation ?? 0) + 1;
  return { ...prepared, metadata: { ...prepared.metadata, generation } };
}

/** The part of an object whose change increases its generation. */
function countedPart(strategy: Strategy, object: ApiObject): unknown {
  if (strategy.generationPart !== undefined) return strategy.generationPart(object);
  const { apiVersion: _apiVersion, metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}
