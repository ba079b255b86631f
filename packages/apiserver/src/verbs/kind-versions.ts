import { ApiError } from "../api-error.ts";
import type { ApiObject, JsonObject } from "../api-object.ts";
import { type FieldSet, fieldSetOf, noFields } from "../apply/field-set.ts";
import { type FieldType, objectType } from "../apply/field-type.ts";
import { field } from "../apply/path-element.ts";
import type { KindVersions } from "../apply/versioned.ts";
import type { Target } from "../request/target.ts";
import { definitionNameOf } from "../resources/builtin-kinds.ts";
import { zeroOf } from "../resources/builtin-zero.ts";
import type { ObjectPart, ResourceDefinition, Schema, ServedVersion } from "../resources/definition.ts";
import { toVersion } from "../resources/versions.ts";

const status: FieldSet = fieldSetOf([[field("status")]]);
const specification: FieldSet = fieldSetOf([[field("spec")]]);
const allButStatus: FieldSet = fieldSetOf([[field("metadata")], [field("spec")]]);

/** The subresource that a request writes to; empty for the object itself. */
type Endpoint = string;

/** What field ownership needs to know about each kind and subresource that requests write to, derived once. */
export class KindVersionsCache {
  readonly #known = new WeakMap<ResourceDefinition, Map<Endpoint, KindVersions>>();

  of({ definition, subresource }: Pick<Target, "definition" | "subresource">): KindVersions {
    const kinds = this.#known.get(definition) ?? new Map<Endpoint, KindVersions>();
    this.#known.set(definition, kinds);
    const isPart = subresource === "status" || definition.strategy.parts?.has(subresource ?? "") === true;
    const endpoint = isPart && subresource !== undefined ? subresource : "";
    const found = kinds.get(endpoint) ?? describe(definition, endpoint);
    kinds.set(endpoint, found);
    return found;
  }
}

function describe(definition: ResourceDefinition, endpoint: Endpoint): KindVersions {
  const versions = new Map(definition.versions.map((version) => [version.apiVersion, version]));
  const types = new Map<string, FieldType>();
  const zeros = new Map<string, JsonObject>();
  return {
    convert: (object, apiVersion) => converted(definition, object, versions.get(apiVersion)),
    type: (apiVersion) => {
      const type = types.get(apiVersion) ?? objectType(versions.get(apiVersion)?.schema);
      types.set(apiVersion, type);
      return type;
    },
    resetFields: (apiVersion) => {
      const part = definition.strategy.parts?.get(endpoint);
      if (part !== undefined) return allBut(part, versions.get(apiVersion)?.schema);
      if (endpoint === "status") return definition.statusTakesMetadata ? specification : allButStatus;
      return versions.get(apiVersion)?.hasStatus === true ? status : noFields;
    },
    zeroObject: (apiVersion) => {
      let zero = zeros.get(apiVersion);
      if (zero === undefined) {
        zero = definition.typed ? zeroOf(definitionNameOf(apiVersion, definition.kind)) : {};
        zeros.set(apiVersion, zero);
      }
      return zero;
    },
  };
}

/** All fields except the part at `path`. */
function allBut({ path: [top, member] }: ObjectPart, schema: Schema | undefined): FieldSet {
  const beside = Object.keys(schema?.properties ?? {}).filter((name) => name !== top);
  const members = Object.keys(schema?.properties?.[top]?.properties ?? {}).filter((name) => name !== member);
  return fieldSetOf([
    ...["metadata", ...beside].map((name) => [field(name)]),
    ...members.map((name) => [field(top), field(name)]),
  ]);
}

/** `undefined` if the conversion fails: field ownership also converts partial objects, which may be invalid. */
function converted(
  definition: ResourceDefinition,
  object: ApiObject,
  version: ServedVersion | undefined,
): ApiObject | undefined {
  if (version === undefined) return undefined;
  try {
    return toVersion(definition, object, version);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
