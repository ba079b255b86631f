import type { ApiObject } from "../api-object.ts";
import type { ResourceDefinition, ServedVersion } from "./definition.ts";
import { defaulted, pruned } from "./schema.ts";

/** Converts an object to a version. */
export function toVersion(definition: ResourceDefinition, object: ApiObject, version: ServedVersion): ApiObject {
  if (object.apiVersion === version.apiVersion) {
    if (definition.definedAt === undefined) return object;
    return isOutgrown(definition, Number(object.metadata.resourceVersion)) ? shapedBy(version, object) : object;
  }
  const { strategy, typed } = definition;
  if (strategy.convert !== undefined) return strategy.convert(object, version.apiVersion);
  const renamed = { ...object, apiVersion: version.apiVersion };
  return typed ? renamed : shapedBy(version, renamed);
}

export function toStorage(definition: ResourceDefinition, object: ApiObject): ApiObject {
  return toVersion(definition, object, definition.versions[0]);
}

/** Whether the definition has changed since this revision, so that the object may lack defaults or have unknown fields. */
export function isOutgrown({ definedAt }: ResourceDefinition, revision: number): boolean {
  return definedAt !== undefined && revision < definedAt;
}

function shapedBy({ schema }: ServedVersion, object: ApiObject): ApiObject {
  return defaulted(pruned(object, schema), schema);
}
