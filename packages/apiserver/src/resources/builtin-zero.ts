import type { JsonObject } from "../api-object.ts";
import { goDefaults } from "./builtin-defaults.ts";
import { builtinDefinitions, referenceOf } from "./builtin-definitions.ts";

/**
 * What Go encodes for the zero value of a built-in type: structs, and null for required lists and maps. Empty strings and
 * numbers are omitted, because they make no difference for field ownership.
 */
export function zeroOf(definition: string): JsonObject {
  const { properties = {}, required = [] } = builtinDefinitions[definition] ?? {};
  const members = Object.entries(properties).flatMap(([name, property]): (readonly [string, unknown])[] => {
    const structure = referenceOf(property);
    if (structure !== undefined) {
      const written = property.default !== undefined && builtinDefinitions[structure]?.properties !== undefined;
      return written ? [[name, zeroOf(structure)]] : [];
    }
    const holds = property.type === "array" || property.type === "object";
    return holds && required.includes(name) ? [[name, null]] : [];
  });
  return { ...emptyDefaults(definition), ...Object.fromEntries(members) };
}

/** Fields that Go encodes even if they are empty, although the documents do not call them required. */
function emptyDefaults(definition: string): JsonObject {
  const empty = Object.entries(goDefaults[definition] ?? {}).filter(([, value]) => value === null || value === "");
  return Object.fromEntries(empty);
}
