import { type ErrorSubject, pathNotFound } from "../api-error.ts";
import { storeKey } from "../api-object.ts";
import type { ResourceDefinition, ServedVersion } from "../resources/definition.ts";
import type { Registry } from "../resources/registry.ts";
import type { ResourcePath } from "./request-path.ts";

/** A path to a resource that the server serves. */
export interface Target {
  readonly definition: ResourceDefinition;
  readonly version: ServedVersion;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** A target with the name of one object. */
export interface ObjectTarget extends Target {
  readonly name: string;
}

export function resolveTarget(path: ResourcePath, registry: Registry): Target {
  const served = registry.find(path.apiVersion, path.plural);
  if (served === undefined) throw pathNotFound();
  const { definition, version } = served;
  const { namespace, name, subresource } = path;
  const misplaced = definition.namespaced ? name !== undefined && namespace === undefined : namespace !== undefined;
  if (misplaced) throw pathNotFound();
  return { definition, version, namespace, name, subresource };
}

export function keyOfTarget({ namespace, name }: ObjectTarget): string {
  return storeKey(namespace, name);
}

export function subjectOf({ version, definition }: Pick<Target, "version" | "definition">, name: string): ErrorSubject {
  return { group: version.group, plural: definition.plural, name };
}
