import { badRequest, conflict } from "../api-error.ts";
import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import { applyConfiguration } from "../apply/apply-configuration.ts";
import { conflictError } from "../apply/conflict.ts";
import { typeText } from "../apply/go-format.ts";
import type { FieldConflict } from "../apply/ownership.ts";
import { timestamp } from "../clock.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import type { ApiContext } from "./context.ts";
import { decideCreation, type Written } from "./create.ts";
import { decodeObject, withName } from "./decode.ts";
import { decideModification } from "./modify.ts";
import type { WriteOptions } from "./write-options.ts";

export interface ApplyRequest {
  readonly body: unknown;
  readonly force: boolean;
}

/** Server-side apply. Creates the object if it does not exist, unless the request is for a subresource. */
export async function apply(
  context: ApiContext,
  target: ObjectTarget,
  { body, force }: ApplyRequest,
  options: WriteOptions,
): Promise<Written> {
  const { definition, subresource } = target;
  const config = decodeConfiguration(body, target);
  const { spec, ...rest } = config;
  // A spec that cannot change conflicts with nobody.
  const isFixed = spec !== undefined && definition.strategy.fixedSpec?.(target.name) !== undefined;
  const merge = applyWith(context, target, { config: isFixed ? rest : config, force, manager: options.manager });
  const wanted = isFixed ? (live: ApiObject | undefined) => ({ ...merge(live), spec }) : merge;
  return context.store.write((view, revision) => {
    const call = { context, view, revision };
    const missing = view.get(definition.id, keyOfTarget(target)) === undefined;
    if (!missing || subresource !== undefined) {
      const modification = { ...options, needsRevision: false, hasManagedFields: true, wanted };
      return decideModification({ ...call, target, modification });
    }
    refuseUid(target, config);
    return decideCreation({
      ...call,
      target,
      given: wanted(undefined),
      creation: { ...options, hasManagedFields: true },
    });
  });
}

interface Configuration {
  readonly config: ApiObject;
  readonly force: boolean;
  readonly manager: string | undefined;
  /** The version that conflict messages show. Default: the version that each owner used. */
  readonly shownVersion?: string;
}

/** Returns a function that merges the configuration into the live object, in the version of the configuration. */
export function applyWith(
  { clock, kinds }: ApiContext,
  target: ObjectTarget,
  { config, force, manager = "", shownVersion }: Configuration,
): (live: ApiObject | undefined) => ApiObject {
  const { subresource } = target;
  const writer = { kind: kinds.of(target), manager, subresource };
  return (live) => {
    const applied = applyConfiguration({ ...writer, now: timestamp(clock.now()), live, config, force });
    if ("conflicts" in applied) throw conflictError(shown(applied.conflicts, shownVersion));
    if ("problem" in applied) throw badRequest(applied.problem);
    return applied.object;
  };
}

function shown(conflicts: readonly FieldConflict[], apiVersion: string | undefined): readonly FieldConflict[] {
  if (apiVersion === undefined) return conflicts;
  return conflicts.map((conflict) => ({ ...conflict, owner: { ...conflict.owner, apiVersion } }));
}

/** A configuration must name its kind and version, because its fields mean nothing without them. */
function decodeConfiguration(body: unknown, target: ObjectTarget): ApiObject {
  if (!isJsonObject(body)) throw badRequest("a configuration to apply must be an object");
  const [apiVersion, kind] = [stringAt(body, "apiVersion"), stringAt(body, "kind")];
  if (apiVersion === undefined || kind === undefined) {
    throw badRequest(`invalid object type: ${typeText(apiVersion ?? "", kind ?? "")}`);
  }
  return withName(decodeObject(body, target), target.name);
}

/** A configuration with a UID refers to an existing object. */
function refuseUid(target: ObjectTarget, { metadata: { uid = "" } }: ApiObject): void {
  if (uid === "") return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(subjectOf(target, target.name), why);
}
