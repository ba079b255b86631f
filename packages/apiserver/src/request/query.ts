import { badRequest } from "../api-error.ts";

/** The query of a request. Reading a key that is given twice fails, because its meaning is unclear. */
export class Query {
  readonly #params: URLSearchParams;

  constructor(text: string) {
    this.#params = new URLSearchParams(text);
  }

  text(key: string): string | undefined {
    const values = this.#params.getAll(key);
    if (values.length > 1) throw badRequest(`the query parameter "${key}" is given ${values.length} times`);
    return values[0];
  }

  all(key: string): string[] {
    return this.#params.getAll(key);
  }

  flag(key: string): boolean {
    const value = this.text(key);
    // Python clients send True and False.
    switch (value?.toLowerCase()) {
      case undefined:
      case "false":
      case "0":
        return false;
      case "":
      case "true":
      case "1":
        return true;
      default:
        throw badRequest(`the query parameter "${key}" must be true or false, not "${value}"`);
    }
  }

  count(key: string): number | undefined {
    const value = this.text(key);
    if (value === undefined || value === "") return undefined;
    if (!/^\d{1,15}$/.test(value))
      throw badRequest(`the query parameter "${key}" must be a whole number, not "${value}"`);
    return Number(value);
  }

  oneOf<T extends string>(key: string, allowed: readonly T[]): T | undefined {
    const value = this.text(key);
    if (value === undefined || value === "") return undefined;
    const found = allowed.find((each) => each === value);
    if (found === undefined)
      throw badRequest(`the query parameter "${key}" must be one of ${allowed.join(", ")}, not "${value}"`);
    return found;
  }
}
