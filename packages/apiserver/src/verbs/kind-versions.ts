import { ApiError } from "../api-error.ts";
import type { ApiObject, JsonObject } from "../api-object.ts";
import { type FieldSet, fieldSetOf, noFields } from "../apply/field-set.ts";
import { field } from "../apply/path-element.ts";
import type { KindVersions } from "../apply/versioned.ts";
import type { Target } from "../request/target.ts";
import { definitionNameOf } from "../resources/builtin-kinds.ts";
import { zeroOf } from "../resources/builtin-zero.ts";
import type { ResourceDefinition, ServedVersion } from "../resources/definition.ts";
import { toVersion } from "../resources/versions.ts";

const status: FieldSet = fieldSetOf([[field("status")]]);
const specification: FieldSet = fieldSetOf([[field("spec")]]);
const allButStatus: FieldSet = fieldSetOf([[field("metadata")], [field("spec")]]);

type Endpoint = "object" | "status";

const known = new WeakMap<ResourceDefinition, Record<Endpoint, KindVersions>>();

/** What field ownership has to know of the kind and endpoint that a request writes to. */
export function kindVersions({ definition, subresource }: Pick<Target, "definition" | "subresource">): KindVersions {
  let kinds = known.get(definition);
  if (kinds === undefined) {
    kinds = { object: describe(definition, "object"), status: describe(definition, "status") };
    known.set(definition, kinds);
  }
  return kinds[subresource === "status" ? "status" : "object"];
}

function describe(definition: ResourceDefinition, endpoint: Endpoint): KindVersions {
  const versions = new Map(definition.versions.map((version) => [version.apiVersion, version]));
  const zeros = new Map<string, JsonObject>();
  return {
    convert: (object, apiVersion) => converted(definition, object, versions.get(apiVersion)),
    schema: (apiVersion) => versions.get(apiVersion)?.schema,
    resetFields: (apiVersion) => {
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

/** Parts of objects are converted too, and some of them make no sense by themselves. */
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
