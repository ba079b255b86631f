import type { Environment } from "@marcbachmann/cel-js";
import type { StructuralSchema } from "../structural-schema.ts";
import { escapeName } from "./cel-value.ts";
import { baseEnvironment } from "./environment.ts";

/** An environment in which `self` has the type of its schema, so that a rule that reads an undefined field does not compile. */
export function typedEnvironment(
  schema: StructuralSchema,
  { isResource, optionalOldSelf }: { readonly isResource: boolean; readonly optionalOldSelf: boolean },
): Environment {
  const environment = baseEnvironment().clone();
  const type = new TypeNames(environment).of(schema, isResource) ?? "dyn";
  return environment
    .registerVariable("self", type)
    .registerVariable("oldSelf", optionalOldSelf ? `optional<${type}>` : type);
}

/**
 * Declares a type for each object schema. Types are numbered from one in each environment, because the library keeps all names
 * for ever, and new names for every rule would accumulate.
 */
class TypeNames {
  readonly #environment: Environment;
  #count = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Returns `undefined` for a value that rules cannot access. */
  of(
    schema: StructuralSchema,
    isResource: boolean = schema["x-kubernetes-embedded-resource"] === true,
  ): string | undefined {
    if (schema["x-kubernetes-int-or-string"] === true) return "dyn";
    switch (schema.type) {
      case "array":
        return wrapped(schema.items && this.of(schema.items), (items) => `list<${items}>`);
      case "object":
        return this.#object(schema, isResource);
      case "string":
        return formats.get(schema.format ?? "") ?? "string";
      case "boolean":
        return "bool";
      case "number":
        return "double";
      case "integer":
        return "int";
      default:
        return undefined;
    }
  }

  #object(schema: StructuralSchema, isResource: boolean): string | undefined {
    const { additionalProperties: values } = schema;
    if (typeof values === "object") return wrapped(this.of(values), (value) => `map<string, ${value}>`);
    const fields: { [name: string]: string } = {};
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const type = this.of(property);
      const escaped = escapeName(name);
      if (type !== undefined && escaped !== undefined) fields[escaped] = type;
    }
    if (isResource) {
      const metadata = this.#declare({ name: "string", generateName: "string" });
      Object.assign(fields, { apiVersion: "string", kind: "string", metadata });
    }
    return this.#declare(fields);
  }

  #declare(fields: { readonly [name: string]: string }): string {
    this.#count += 1;
    const name = `object.${this.#count}`;
    // Without declared fields, the library would accept any field.
    this.#environment.registerType(name, { fields: { ...fields } });
    this.#environment.registerOperator(`${name} == ${name}`, () => true);
    return name;
  }
}

const formats = new Map([
  ["byte", "bytes"],
  ["date", "google.protobuf.Timestamp"],
  ["date-time", "google.protobuf.Timestamp"],
  ["duration", "google.protobuf.Duration"],
]);

function wrapped(inner: string | undefined, wrap: (inner: string) => string): string | undefined {
  return inner === undefined ? undefined : wrap(inner);
}
