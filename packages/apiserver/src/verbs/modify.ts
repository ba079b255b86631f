import { conflict, type ErrorSubject, invalid, notFound } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import { admitShape, checkStored, settle, stamped } from "../resources/admission.ts";
import { updatedMetadata } from "../resources/metadata.ts";
import { toVersion } from "../resources/versions.ts";
import type { Decided, Stored, View } from "../store/store.ts";
import { type ApiContext, admissionContext } from "./context.ts";
import type { Written } from "./create.ts";
import { isGone } from "./delete-rules.ts";
import type { WriteOptions } from "./write-options.ts";

export interface Modification extends WriteOptions {
  /** Makes the wanted object out of the current one, both in the version of the request. */
  wanted(current: ApiObject): ApiObject;
  /** Whether the client must say which revision it changes. */
  readonly needsRevision: boolean;
}

/** Changes one object, or only its status. Nothing is saved when nothing would change. */
export async function modify(context: ApiContext, target: ObjectTarget, modification: Modification): Promise<Written> {
  return context.store.write((view, revision) => decide({ context, view, revision, target, modification }));
}

interface Decision {
  readonly context: ApiContext;
  readonly view: View;
  readonly revision: number;
  readonly target: ObjectTarget;
  readonly modification: Modification;
}

function decide({ context, view, revision, target, modification }: Decision): Decided<Written> {
  const { definition, version } = target;
  const key = keyOfTarget(target);
  const old = view.get(definition.id, key);
  if (old === undefined) throw notFound(subjectOf(target, target.name));
  const current = toVersion(definition, old.object, version);
  const given = modification.wanted(current);
  checkPreconditions(target, given, { old, needsRevision: modification.needsRevision });
  const { object: shaped, warnings } = admitShape(target, merged(target, given, current), modification, current);
  if (equalJson(shaped, current)) return { result: { object: current, warnings } };

  const next = prepare(context, target, shaped, old.object);
  checkStored(target, next, old.object);
  modification.refuse?.(next, old.object);
  if (equalJson(next, old.object)) return { result: { object: current, warnings } };
  if (modification.dryRun) return { result: { object: toVersion(definition, next, version), warnings } };
  const object = stamped(next, revision);
  const result = { object: toVersion(definition, object, version), warnings };
  return { write: { resource: definition.id, key, object: isGone(definition, object) ? undefined : object }, result };
}

function checkPreconditions(
  target: ObjectTarget,
  given: ApiObject,
  { old, needsRevision }: { old: Stored; needsRevision: boolean },
): void {
  const subject = subjectOf(target, target.name);
  const { uid, resourceVersion } = given.metadata;
  if (uid !== undefined && uid !== "" && uid !== old.object.metadata.uid) throw uidConflict(subject, uid, old.object);
  if (resourceVersion === undefined || resourceVersion === "") {
    if (!needsRevision) return;
    const message = "Invalid value: 0: must be specified for an update";
    throw invalid(target.definition.kind, subject, [
      { field: "metadata.resourceVersion", reason: "FieldValueInvalid", message },
    ]);
  }
  if (resourceVersion !== String(old.revision)) throw modified(subject);
}

export function uidConflict(subject: ErrorSubject, uid: string, object: ApiObject): Error {
  return conflict(
    subject,
    `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`,
  );
}

export function modified(subject: ErrorSubject): Error {
  return conflict(
    subject,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

/** The status is written through its own subresource alone, and nothing else through that. */
function merged({ version, subresource }: ObjectTarget, given: ApiObject, current: ApiObject): ApiObject {
  const metadata = subresource === "status" ? current.metadata : updatedMetadata(given.metadata, current.metadata);
  if (subresource === "status") return withStatus(current, given["status"]);
  return version.hasStatus ? withStatus({ ...given, metadata }, current["status"]) : { ...given, metadata };
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _status, ...rest } = object;
  return status === undefined || status === null ? rest : { ...rest, status };
}

function prepare(context: ApiContext, target: ObjectTarget, shaped: ApiObject, old: ApiObject): ApiObject {
  const { definition, subresource } = target;
  const { strategy, hasGeneration } = definition;
  const stored = settle(definition, shaped);
  const defaulted = strategy.setDefaults?.(stored) ?? stored;
  const prepared =
    subresource === "status"
      ? defaulted
      : (strategy.prepareUpdate?.(defaulted, old, admissionContext(context)) ?? defaulted);
  if (!hasGeneration || equalJson(specification(prepared), specification(old))) return prepared;
  const generation = (old.metadata.generation ?? 0) + 1;
  return { ...prepared, metadata: { ...prepared.metadata, generation } };
}

/** Everything whose change counts as a new generation. */
function specification(object: ApiObject): unknown {
  const { apiVersion: _apiVersion, metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}
