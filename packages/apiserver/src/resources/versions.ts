import type { ApiObject } from "../api-object.ts";
import type { ResourceDefinition, ServedVersion } from "./definition.ts";

/** The object as a served version shows it. */
export function toVersion(definition: ResourceDefinition, object: ApiObject, version: ServedVersion): ApiObject {
  if (object.apiVersion === version.apiVersion) return object;
  return definition.strategy.convert?.(object, version.apiVersion) ?? { ...object, apiVersion: version.apiVersion };
}

export function toStorage(definition: ResourceDefinition, object: ApiObject): ApiObject {
  return toVersion(definition, object, definition.versions[0]);
}
