import { alreadyExists, badRequest, forbidden, notFound } from "../api-error.ts";
import { type ApiObject, storeKey, valueAt, withMetadata } from "../api-object.ts";
import { subjectOf, type Target } from "../request/target.ts";
import { toStoredVersion, withRevision } from "../resources/admission.ts";
import { createdMetadata } from "../resources/metadata.ts";
import { generateName } from "../resources/names.ts";
import { toVersion } from "../resources/versions.ts";
import type { Decided, View } from "../store/store.ts";
import { type ApiContext, admissionContext } from "./context.ts";
import { decodeObject, withName } from "./decode.ts";
import { usageCheck } from "./namespace-limits.ts";
import { recordOwner } from "./record-owner.ts";
import type { WriteOptions } from "./write-options.ts";

export interface Written {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
  /** Whether the object did not exist before. */
  readonly created: boolean;
}

export interface Creation extends WriteOptions {
  /** Whether `managedFields` are already set, as by an apply. Default: they are recorded here. */
  readonly hasManagedFields?: boolean;
}

/** As many as kube-apiserver makes. That all of them are taken is practically impossible. */
const maxNameAttempts = 8;

export async function create(
  context: ApiContext,
  target: Target,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const { definition, namespace } = target;
  if (definition.namespaced && namespace === undefined) throw badRequest("the path must name a namespace to create in");
  const decoded = decodeObject(body, target);
  const given = target.name === undefined ? decoded : withName(decoded, target.name);
  if (given.metadata.resourceVersion !== undefined && given.metadata.resourceVersion !== "") {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const interned = context.interner.internSpec(given);
  return context.store.write((view, revision) =>
    decideCreation({ context, view, revision, target, given: interned, creation: options }),
  );
}

interface CreationCall {
  readonly context: ApiContext;
  readonly view: View;
  readonly revision: number;
  readonly target: Target;
  readonly given: ApiObject;
  readonly creation: Creation;
}

export function decideCreation(call: CreationCall): Decided<Written> {
  const { context, view, revision, target, given, creation } = call;
  const { definition, version, namespace } = target;
  const wanted = named(view, target, given);
  checkNamespace(view, target, wanted);
  const { object: shaped, warnings } = context.admission.shape(target, wanted, creation);
  const object = withRevision(prepare(context, target, shaped, creation), revision);
  context.admission.check(target, object, undefined);
  creation.refuse?.(object, undefined);
  const name = object.metadata.name as string;
  const key = storeKey(namespace, name);
  const isTaken = view.get(definition.id, key) !== undefined || context.access.provided?.reserves(definition.id, name);
  if (isTaken) throw alreadyExists(subjectOf(target, name));
  const result = { object: toVersion(definition, object, version), warnings, created: true };
  if (creation.dryRun) return { result: withoutRevision(result) };
  const checkUsage = usageCheck(creation.limits, subjectOf(target, name));
  return { write: { resource: definition.id, key, object, checkUsage }, result };
}

function withoutStatus(object: ApiObject): ApiObject {
  const { status: _status, ...rest } = object;
  return rest;
}

function prepare(context: ApiContext, target: Target, shaped: ApiObject, creation: Creation): ApiObject {
  const { definition, version, namespace } = target;
  const keepsStatus = !version.hasStatus || definition.strategy.keepsStatus === true;
  const bare = keepsStatus ? shaped : withoutStatus(shaped);
  const nowMs = context.clock.now();
  const { hasGeneration, strategy } = definition;
  const { name = "" } = shaped.metadata;
  const metadata = createdMetadata(shaped.metadata, { name, namespace, nowMs, hasGeneration });
  const converted = toStoredVersion(definition, { ...bare, metadata });
  // An older version keeps fields of the status that it does not have in an annotation.
  const stored = keepsStatus ? converted : withoutStatus(converted);
  const defaulted = strategy.setDefaults?.(stored) ?? stored;
  const { manager = "", hasManagedFields = false } = creation;
  // Fields that the server sets after this line have no owner.
  const write = { context, target, manager, nowMs, live: undefined };
  const owned = hasManagedFields ? defaulted : recordOwner(write, defaulted);
  return strategy.prepareCreate?.(owned, admissionContext(context)) ?? owned;
}

/** Generates a name that is not taken, if the object has `generateName` and no name. */
function named(view: View, { definition, namespace }: Target, object: ApiObject): ApiObject {
  const { name, generateName: base } = object.metadata;
  if ((name !== undefined && name !== "") || typeof base !== "string" || base === "") return object;
  for (let attempt = 0; ; attempt += 1) {
    const candidate = generateName(base);
    const taken = view.get(definition.id, storeKey(namespace, candidate)) !== undefined;
    if (!taken || attempt === maxNameAttempts) return withMetadata(object, { name: candidate });
  }
}

function checkNamespace(view: View, target: Target, object: ApiObject): void {
  if (target.namespace === undefined) return;
  const namespace = view.get("namespaces", target.namespace)?.object;
  if (namespace === undefined) throw notFound({ group: "", plural: "namespaces", name: target.namespace });
  if (valueAt(namespace, "status", "phase") !== "Terminating") return;
  const message = `namespace ${target.namespace} is being terminated`;
  const cause = { field: "metadata.namespace", reason: "NamespaceTerminating", message };
  throw forbidden(
    subjectOf(target, object.metadata.name as string),
    `unable to create new content in namespace ${target.namespace} because it is being terminated`,
    [cause],
  );
}

/** The result of a dry run is not in the history, so it has no resourceVersion. */
function withoutRevision({ object, ...written }: Written): Written {
  const { resourceVersion: _resourceVersion, ...metadata } = object.metadata;
  return { ...written, object: { ...object, metadata } };
}
