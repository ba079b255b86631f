import { badRequest } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import type { ApiContext } from "./context.ts";
import { decideCreation, type Written } from "./create.ts";
import { decodeObject, withName } from "./decode.ts";
import { decideModification, uidConflict } from "./modify.ts";
import type { WriteOptions } from "./write-options.ts";

/** Replaces an object or its status. Creates the object if it does not exist and the kind allows that. */
export async function update(
  context: ApiContext,
  target: ObjectTarget,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const given = decodeNamed(body, target);
  const { definition, subresource } = target;
  const modification = { ...options, needsRevision: !definition.unconditionalUpdate, wanted: () => given };
  const mayCreate = definition.createsOnUpdate && subresource === undefined;
  return context.store.write((view, revision) => {
    const call = { context, view, revision, target };
    if (!mayCreate || view.get(definition.id, keyOfTarget(target)) !== undefined) {
      return decideModification({ ...call, modification });
    }
    const { uid = "" } = given.metadata;
    if (uid !== "") throw uidConflict(subjectOf(target, target.name), uid, "");
    return decideCreation({ ...call, given, creation: options });
  });
}

/** An update must have the name in the body, in addition to the path. */
function decodeNamed(body: unknown, target: ObjectTarget): ApiObject {
  const object = decodeObject(body, target);
  const name: unknown = object.metadata.name ?? "";
  if (name !== "") return withName(object, target.name);
  throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`);
}
