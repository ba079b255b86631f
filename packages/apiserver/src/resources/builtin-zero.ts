import type { JsonObject } from "../api-object.ts";
import { goDefaults } from "./builtin-defaults.ts";
import { builtinDefinitions, referenceOf } from "./builtin-definitions.ts";

/**
 * What Go writes for a built-in type that nobody filled in: the structures it cannot leave out, and null for the lists and
 * maps it has to write. Empty texts and numbers are not told: they are the same to an owner as none.
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

/** The few fields that Go writes with nothing in them, and that no document calls required. */
function emptyDefaults(definition: string): JsonObject {
  const empty = Object.entries(goDefaults[definition] ?? {}).filter(([, value]) => value === null || value === "");
  return Object.fromEntries(empty);
}
