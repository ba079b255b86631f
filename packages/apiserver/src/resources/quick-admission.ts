import { type QuickAdmission as Admit, type Json, quickAdmission } from "@agent-sandbox/api/schema";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { canonicalLeaf } from "./canonical-form.ts";
import type { Schema } from "./definition.ts";

type Rewrite = ((value: Json) => Json | undefined) | undefined;

/** The fast path of admission. It must give the same result as the walkers that report problems, or none. */
export class QuickAdmission {
  readonly #typed: Admit;
  readonly #custom: Admit;

  constructor(interner: Interner) {
    /** The result for a part such as `spec` depends on its schema and value alone, so an interned part needs one walk. */
    const memoizePart = (shape: (part: Json) => Json | symbol): ((part: Json) => Json | symbol) => {
      const shapeObject = (part: JsonObject): Json | symbol => shape(part as Json);
      return (part) => (isJsonObject(part) ? interner.derive(shapeObject, part) : shape(part));
    };
    const rewrite = (schema: Schema): Rewrite => canonicalLeaf(schema) as Rewrite;
    this.#typed = quickAdmission({ dropsEmpty: true, uniqueItems: false, rewrite, memoizePart });
    this.#custom = quickAdmission({ dropsEmpty: false, uniqueItems: true, memoizePart });
  }

  /**
   * The object in its stored form if it has no problem; `undefined` if it may have one. `typed`: see
   * `ResourceDefinition.typed`.
   */
  admit(
    object: ApiObject,
    { schema, typed }: { readonly schema: Schema; readonly typed: boolean },
    old?: ApiObject,
  ): ApiObject | undefined {
    const admit = typed ? this.#typed : this.#custom;
    return admit(schema, object as unknown as Json, old as unknown as Json | undefined) as unknown as
      | ApiObject
      | undefined;
  }
}
