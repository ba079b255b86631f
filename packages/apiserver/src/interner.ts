import { type ApiObject, isJsonObject, type JsonObject } from "./api-object.ts";

const maxInterned = 512;
/** In characters of JSON. Larger values are not interned. */
const maxLength = 32 * 1024;

export interface InternerOptions {
  /** Whether stored objects are frozen, so that code that changes one throws. Costs CPU on every write. Default: false. */
  readonly freeze?: boolean;
}

type Answers = Map<(value: JsonObject) => unknown, unknown>;

/**
 * Interns specs: equal specs become the same JavaScript object. The Pods of a pool differ only in their metadata, so what
 * the server computes from a spec alone (its stored form, defaults, problems, owned fields, JSON) is computed once. An
 * interned value must never change.
 *
 * Each server has one interner. It keeps the 512 specs that were interned last; results are dropped with their values.
 */
export class Interner {
  readonly #freeze: boolean;
  readonly #byText = new Map<string, JsonObject>();
  /** The results of `memo` for each interned value. */
  readonly #answers = new WeakMap<object, Answers>();

  constructor({ freeze = false }: InternerOptions = {}) {
    this.#freeze = freeze;
  }

  /** The interned value that equals this one. */
  intern(value: JsonObject): JsonObject {
    if (this.isInterned(value)) return value;
    const text = JSON.stringify(value);
    if (text.length > maxLength) return value;
    return this.#byText.get(text) ?? this.adopt(this.#remember(text, value));
  }

  /** The object with an interned spec. */
  internSpec(object: ApiObject): ApiObject {
    const spec = object["spec"];
    if (!isJsonObject(spec)) return object;
    const interned = this.intern(spec);
    return interned === spec ? object : { ...object, spec: interned };
  }

  /** Marks a value that was computed from an interned one as interned. */
  adopt<T extends object>(value: T): T {
    if (!this.#answers.has(value)) this.#answers.set(this.protect(value), new Map());
    return value;
  }

  isInterned(value: object): boolean {
    return this.#answers.has(value);
  }

  /** `decide(value)`, computed once for an interned value. `decide` must be pure, and the same function in each call. */
  memo<T>(decide: (value: JsonObject) => T, value: JsonObject): T {
    const answers = this.#answers.get(value);
    if (answers === undefined) return decide(value);
    const known = answers.get(decide);
    if (known !== undefined) return known as T;
    const answer = decide(value);
    answers.set(decide, answer);
    return answer;
  }

  /** Like `memo`; if the result is an object, it is interned too. */
  derive<T>(make: (value: JsonObject) => T, value: JsonObject): T {
    const made = this.memo(make, value);
    if (this.isInterned(value) && isJsonObject(made)) this.adopt(made);
    return made;
  }

  /** `JSON.stringify(object)`, with the text of interned members computed once. */
  stringify(object: { readonly [name: string]: unknown }): string {
    let text = "";
    for (const name of Object.keys(object)) {
      const value = object[name];
      const member = isJsonObject(value) && this.isInterned(value) ? this.#textOf(value) : JSON.stringify(value);
      if (member !== undefined) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${member}`;
    }
    return text === "" ? "{}" : `${text}}`;
  }

  /** Freezes a value that is about to be stored, if the server was started with that option. */
  protect<T>(value: T): T {
    if (this.#freeze) deepFreeze(value);
    return value;
  }

  #textOf(value: JsonObject): string {
    const text = this.memo(stringify, value);
    // A client that reads this value and writes it back sends the same text.
    if (text.length <= maxLength && !this.#byText.has(text)) this.#remember(text, value);
    return text;
  }

  #remember(text: string, value: JsonObject): JsonObject {
    if (this.#byText.size >= maxInterned) {
      const [oldest = ""] = this.#byText.keys();
      this.#byText.delete(oldest);
    }
    this.#byText.set(text, value);
    return value;
  }
}

const stringify = (value: JsonObject): string => JSON.stringify(value);

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}
