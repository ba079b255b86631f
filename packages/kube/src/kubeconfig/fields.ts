import { dirname, resolve } from "node:path";

/** A configuration error, described for people. Thrown only within this folder; the load functions return it. */
export class ConfigProblem extends Error {
  override readonly name = "ConfigProblem";
}

/** The booleans of YAML 1.1, which Kubernetes' parser accepts. */
const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

/** A mapping in a configuration file that knows its position for error messages. */
export class Fields {
  readonly file: string;
  readonly #where: string;
  readonly #values: Readonly<Record<string, unknown>>;

  private constructor(file: string, where: string, values: unknown) {
    if (typeof values !== "object" || values === null || Array.isArray(values)) {
      const what = where === "" ? "its content" : where;
      throw new ConfigProblem(`Cannot use kubeconfig "${file}": ${what} is ${describe(values)}, it must be a mapping`);
    }
    this.file = file;
    this.#where = where;
    this.#values = values as Record<string, unknown>;
  }

  /**
   * Parses every scalar as text: in a kubeconfig, `token: 0123` and `name: yes` are strings. The few booleans are parsed by
   * `flag`.
   */
  static async parse(file: string, text: string): Promise<Fields> {
    const json = parseJson(text);
    if (json !== undefined) return new Fields(file, "", json);
    // Loaded on first use: in a cluster there is no kubeconfig, and that of the box is JSON.
    const { parseDocument } = await import("./yaml.ts");
    const document = parseDocument(text, { schema: "failsafe", customTags: ["null"], merge: true, prettyErrors: true });
    const [error] = document.errors;
    if (error)
      throw new ConfigProblem(`Cannot parse kubeconfig "${file}": ${error.message.split("\n")[0]?.replace(/:$/, "")}`);
    let content: unknown;
    try {
      content = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      throw new ConfigProblem(`Cannot parse kubeconfig "${file}": ${(error as Error).message}`);
    }
    return new Fields(file, "", content ?? {});
  }

  text(field: string): string | undefined {
    const value = this.#values[field];
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value !== "string") throw this.problem(field, `is ${describe(value)}, it must be text`);
    return value;
  }

  flag(field: string): boolean {
    const text = this.text(field);
    const value = text === undefined ? false : booleans[text.toLowerCase()];
    if (value === undefined) throw this.problem(field, `is "${text}", it must be true or false`);
    return value;
  }

  texts(field: string): string[] {
    return this.#list(field).map((value, index) => {
      if (typeof value === "string") return value;
      throw this.problem(`${field}[${index}]`, `is ${describe(value)}, it must be text`);
    });
  }

  child(field: string): Fields | undefined {
    const value = this.#values[field];
    if (value === undefined || value === null) return undefined;
    return new Fields(this.file, this.#path(field), value);
  }

  children(field: string): Fields[] {
    return this.#list(field).map((value, index) => new Fields(this.file, this.#path(`${field}[${index}]`), value));
  }

  names(): string[] {
    return Object.keys(this.#values);
  }

  /** Resolves a path relative to the file that contains it. */
  path(field: string): string | undefined {
    const text = this.text(field);
    return text === undefined ? undefined : resolve(dirname(this.file), text);
  }

  problem(field: string, state: string): ConfigProblem {
    return new ConfigProblem(`Cannot use kubeconfig "${this.file}": ${this.#path(field)} ${state}`);
  }

  #list(field: string): readonly unknown[] {
    const value = this.#values[field] ?? [];
    if (!Array.isArray(value)) throw this.problem(field, `is ${describe(value)}, it must be a list`);
    return value;
  }

  #path(field: string): string {
    return this.#where === "" ? field : `${this.#where}.${field}`;
  }
}

/** The content of a file that is JSON, with every scalar as text; otherwise undefined. Parsing it as YAML takes 50 times as long. */
function parseJson(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) =>
      typeof value === "number" || typeof value === "boolean" ? (context?.source ?? String(value)) : value,
    );
  } catch {
    return undefined;
  }
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "a mapping" : JSON.stringify(value);
}
