import { hasRules } from "./cel/rules.ts";
import { isObject, type JsonObject, ownValue } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** A value and the schema that it has to follow. */
export interface Part {
  readonly schema: StructuralSchema;
  readonly value: Json;
}

type Parts = WeakMap<StructuralSchema, WeakSet<object>>;

/**
 * The members of whole objects about which nothing was found to be wrong, and which need not be looked at again as long
 * as nobody changes them. Rules may tell a part that was there before and is the same from one that is new.
 */
export class KnownParts {
  readonly #new: Parts = new WeakMap();
  readonly #same: Parts = new WeakMap();

  /** What has to be looked at: some members of the object, or all of it where it has to be seen as a whole. */
  unknown(schema: StructuralSchema, object: Json, old: Json | undefined): Part[] {
    if (!isObject(object) || !isDivided(schema)) return [{ schema, value: object }];
    return Object.keys(object).flatMap((name) => {
      const property = ownValue(schema.properties, name);
      const value = object[name];
      if (property === undefined || value === undefined || this.#knows(property, name, { value, old })) return [];
      return [{ schema: property, value }];
    });
  }

  /** Keeps in mind that nothing is wrong with an object. */
  add(schema: StructuralSchema, object: Json, old: Json | undefined): void {
    if (!isObject(object) || !isDivided(schema)) return;
    for (const [name, value] of Object.entries(object)) {
      const property = ownValue(schema.properties, name);
      if (property === undefined || !isObject(value)) continue;
      const seen = this.#seen(property, name, { value, old });
      if (seen === undefined) continue;
      const parts = seen.get(property) ?? new WeakSet();
      seen.set(property, parts.add(value));
    }
  }

  #knows(schema: StructuralSchema, name: string, { value, old }: { value: Json; old: Json | undefined }): boolean {
    return isObject(value) && this.#seen(schema, name, { value, old })?.get(schema)?.has(value) === true;
  }

  #seen(
    schema: StructuralSchema,
    name: string,
    { value, old }: { value: JsonObject; old: Json | undefined },
  ): Parts | undefined {
    if (old === undefined || !hasRules(schema)) return this.#new;
    return isObject(old) && ownValue(old, name) === value ? this.#same : undefined;
  }
}

/** Whether a schema says nothing of an object but what it says of its members. */
function isDivided(schema: StructuralSchema): boolean {
  return (
    schema.properties !== undefined &&
    schema.additionalProperties === undefined &&
    (schema["x-kubernetes-validations"] ?? []).length === 0 &&
    schema["x-kubernetes-embedded-resource"] !== true
  );
}
