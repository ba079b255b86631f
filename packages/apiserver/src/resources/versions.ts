import type { ApiObject } from "../api-object.ts";
import type { ResourceDefinition, ServedVersion } from "./definition.ts";
import { defaulted, pruned } from "./schema.ts";

/** The object as a served version shows it. */
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

/** Whether what was saved at a revision may lack the defaults, or have the fields, that its definition has changed since. */
export function isOutgrown({ definedAt }: ResourceDefinition, revision: number): boolean {
  return definedAt !== undefined && revision < definedAt;
}

function shapedBy({ schema }: ServedVersion, object: ApiObject): ApiObject {
  return defaulted(pruned(object, schema), schema);
}
