import { badRequest, forbidden, notFound } from "../api-error.ts";
import { type ApiObject, isJsonObject, withMetadata } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { Query } from "../request/query.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import { stamped } from "../resources/admission.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Decided, Stored } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { isGone } from "./delete-rules.ts";
import { modified, uidConflict } from "./modify.ts";
import { parseDryRun } from "./write-options.ts";

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: "Foreground" | "Background" | "Orphan" | undefined;
}

/** The object after the request: `gone` says whether it is still there. Always in the stored version. */
export interface Deleted {
  readonly object: ApiObject;
  readonly gone: boolean;
}

/** Options may come in the body, in the query, or both; the body wins. */
export function parseDeleteOptions(query: Query, body: unknown): DeleteOptions {
  if (body !== undefined && body !== null && !isJsonObject(body))
    throw badRequest("DeleteOptions must be a JSON object");
  const given = body ?? {};
  const preconditions = isJsonObject(given["preconditions"]) ? given["preconditions"] : {};
  return {
    dryRun: parseDryRun(dryRunOf(given["dryRun"]) ?? query.text("dryRun")),
    uid: optionalString(preconditions["uid"], "preconditions.uid"),
    resourceVersion: optionalString(preconditions["resourceVersion"], "preconditions.resourceVersion"),
    gracePeriodSeconds: gracePeriod(given["gracePeriodSeconds"] ?? query.count("gracePeriodSeconds")),
    propagation: propagationOf(
      given["propagationPolicy"] ?? query.text("propagationPolicy"),
      given["orphanDependents"],
    ),
  };
}

function dryRunOf(value: unknown): unknown {
  return Array.isArray(value) ? (value[0] as unknown) : value;
}

function optionalString(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw badRequest(`${field} must be a string`);
  return value;
}

function gracePeriod(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw badRequest("gracePeriodSeconds must be a whole number of seconds, 0 or more");
  }
  return value as number;
}

function propagationOf(value: unknown, orphanDependents: unknown): DeleteOptions["propagation"] {
  switch (value) {
    case undefined:
    case null:
      return orphanDependents === true ? "Orphan" : undefined;
    case "Foreground":
    case "Background":
    case "Orphan":
      return value;
    default:
      throw badRequest(`propagationPolicy must be Foreground, Background or Orphan, not ${JSON.stringify(value)}`);
  }
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
    const next = marked(definition, old.object, { ...options, nowMs: context.clock.now() });
    const gone = isGone(definition, next);
    const object = gone ? next : stamped(next, revision);
    if (options.dryRun === true || next === old.object) return { result: { object, gone } };
    return { write: { resource: definition.id, key, object: gone ? undefined : object }, result: { object, gone } };
  });
}

function checkPreconditions(target: ObjectTarget, old: Stored, { uid, resourceVersion }: DeleteOptions): void {
  const subject = subjectOf(target, target.name);
  if (uid !== undefined && uid !== old.object.metadata.uid) throw uidConflict(subject, uid, old.object);
  if (resourceVersion !== undefined && resourceVersion !== String(old.revision)) throw modified(subject);
}

/** The object with everything set that its deletion asks for; the same object when it already had that. */
function marked(
  definition: ResourceDefinition,
  object: ApiObject,
  options: DeleteOptions & { nowMs: number },
): ApiObject {
  const grace = definition.strategy.graceSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const finalizers = withPropagation(object.metadata.finalizers ?? [], options.propagation);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation } = object.metadata;
  if (deletionTimestamp !== undefined) {
    // A second deletion can only make the wait shorter.
    if (grace >= deletionGracePeriodSeconds) return object;
    const startedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
    return withMetadata(object, {
      deletionTimestamp: timestamp(startedMs + grace * 1000),
      deletionGracePeriodSeconds: grace,
    });
  }
  const next = withMetadata(object, {
    deletionTimestamp: timestamp(options.nowMs + grace * 1000),
    deletionGracePeriodSeconds: grace,
    ...(finalizers.length === 0 ? {} : { finalizers }),
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  });
  return definition.strategy.markDeleted?.(next) ?? next;
}

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** How dependents are to be treated travels as a finalizer, which the garbage collector takes off when it has done it. */
function withPropagation(finalizers: readonly string[], propagation: DeleteOptions["propagation"]): string[] {
  const others = finalizers.filter((each) => each !== orphanFinalizer && each !== foregroundFinalizer);
  if (propagation === "Orphan") return [...others, orphanFinalizer];
  if (propagation === "Foreground") return [...others, foregroundFinalizer];
  return propagation === "Background" ? others : [...finalizers];
}
