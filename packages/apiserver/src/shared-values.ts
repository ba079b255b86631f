import { type ApiObject, isJsonObject, type JsonObject } from "./api-object.ts";
import { guarded } from "./store/guarded.ts";

/**
 * Specifications come again and again: the Pods of a pool differ in their names alone. One that is equal to one seen lately
 * is taken for that one, and what was found out about it need not be found out again. Nobody may change what is shared.
 */
const byText = new Map<string, JsonObject>();
const marked = new WeakSet<object>();

const maxShared = 512;
/** In characters of JSON: what is larger is not worth its room. */
const maxLength = 32 * 1024;

/** The value that stands for all that are equal to this one. */
export function share(value: JsonObject): JsonObject {
  if (marked.has(value)) return value;
  const text = JSON.stringify(value);
  if (text.length > maxLength) return value;
  return byText.get(text) ?? shareNew(known(text, value));
}

function known(text: string, value: JsonObject): JsonObject {
  for (const [oldest] of byText) {
    if (byText.size < maxShared) break;
    byText.delete(oldest);
  }
  byText.set(text, value);
  return value;
}

/** An object whose specification stands for all that are equal to it. */
export function withSharedSpec(object: ApiObject): ApiObject {
  const spec = object["spec"];
  if (!isJsonObject(spec)) return object;
  const shared = share(spec);
  return shared === spec ? object : { ...object, spec: shared };
}

/** Makes a value shared that was made of one. */
export function shareNew<T extends object>(value: T): T {
  marked.add(guarded(value));
  return value;
}

export const isShared = (value: JsonObject): boolean => marked.has(value);

/** A pure function that is asked only once about a value that is shared. */
export function onceForShared<T>(decide: (value: JsonObject) => T): (value: JsonObject) => T {
  const answers = new WeakMap<object, T>();
  return (value) => {
    if (!marked.has(value)) return decide(value);
    const earlier = answers.get(value);
    if (earlier !== undefined) return earlier;
    const answer = decide(value);
    answers.set(value, answer);
    return answer;
  };
}

/** The same for one that makes a new value of it, which is shared in turn: the next function need not be asked either. */
export function makeOnceOfShared<T>(make: (value: JsonObject) => T): (value: JsonObject) => T {
  return onceForShared((value) => {
    const made = make(value);
    if (marked.has(value) && isJsonObject(made)) shareNew(made);
    return made;
  });
}

/** The JSON of an object whose members may be shared. */
export function sharedJson(object: { readonly [name: string]: unknown }): string {
  let text = "";
  for (const name of Object.keys(object)) {
    const value = object[name];
    const member = isJsonObject(value) && isShared(value) ? textOf(value) : JSON.stringify(value);
    if (member !== undefined) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${member}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

const textOf = onceForShared((value) => {
  const text = JSON.stringify(value);
  // Who reads it and writes it back sends this text.
  if (text.length <= maxLength && !byText.has(text)) known(text, value);
  return text;
});
