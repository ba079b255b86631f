import { Environment } from "@marcbachmann/cel-js";
import { cidr } from "./library/cidr.ts";
import { conversions } from "./library/conversions.ts";
import { namedFormats } from "./library/formats.ts";
import { ip } from "./library/ip.ts";
import type { Library } from "./library/library.ts";
import { lists } from "./library/lists.ts";
import { registerMacros } from "./library/macros.ts";
import { optionals } from "./library/optionals.ts";
import { quantity } from "./library/quantity.ts";
import { regex } from "./library/regex.ts";
import { semver } from "./library/semver.ts";
import { sets } from "./library/sets.ts";
import { strings } from "./library/strings.ts";
import { urls } from "./library/urls.ts";

/** The libraries that kube-apiserver 1.36 offers to rules of CustomResourceDefinitions. */
const libraries: readonly Library[] = [
  conversions,
  strings,
  lists,
  sets,
  regex,
  urls,
  quantity,
  ip,
  cidr,
  namedFormats,
  semver,
  optionals,
];

/** A call of the form `name(…)` or `receiver.name(…)`. */
export type CallKind = "call" | "rcall";

const standard: { readonly [kind in CallKind]: string } = {
  call: "bool bytes double duration dyn has int matches size string timestamp type uint",
  rcall:
    "all contains endsWith exists exists_one filter getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds hasValue map matches none of optFlatMap optMap or orValue size startsWith value existsOne transformList transformMap transformMapEntry sortBy",
};

const nameOf = (signature: string): { name: string; kind: CallKind } => {
  const [, receiver, name = ""] = /^(?:([\w.<>]+)\.)?(\w+)\(/.exec(signature) ?? [];
  return { name, kind: receiver === undefined ? "call" : "rcall" };
};

const allowed: { readonly [kind in CallKind]: Set<string> } = {
  call: new Set(standard.call.split(" ")),
  rcall: new Set(standard.rcall.split(" ")),
};
for (const { functions } of libraries) {
  for (const signature of Object.keys(functions)) {
    const { name, kind } = nameOf(signature);
    allowed[kind].add(name);
  }
}

export const isAllowed = (kind: CallKind, name: string): boolean => allowed[kind].has(name);

/**
 * Functions that the CEL library also has, but with another meaning. It does not allow to replace them, so ours are registered
 * under private names, and calls in rules are renamed.
 */
const replaced = new Set([
  "double",
  "duration",
  "indexOf",
  "int",
  "join",
  "lastIndexOf",
  "lowerAscii",
  "matches",
  "split",
  "string",
  "substring",
  "timestamp",
  "trim",
  "upperAscii",
]);
const mark = "__";

export const privateName = (name: string): string => (replaced.has(name) ? mark + name : name);
export const publicNames = (text: string): string => text.replaceAll(/\b__(?=[a-z])/gi, "");

/** A namespace is a constant whose type is the receiver of its functions. */
function registerNamespace(environment: Environment, name: string): void {
  const Namespace = class {
    readonly name: string = name;
  };
  environment.registerType(`namespace.${name}`, Namespace).registerConstant(name, `namespace.${name}`, new Namespace());
}

function registerLibrary(environment: Environment, { types, namespaces, functions, equals }: Library): void {
  for (const [name, type] of Object.entries(types ?? {})) environment.registerType(name, type);
  for (const name of namespaces ?? []) registerNamespace(environment, name);
  for (const [signature, handler] of Object.entries(functions)) {
    const { name } = nameOf(signature);
    const own = signature.replace(new RegExp(`(^|\\.)${name}\\(`), `$1${privateName(name)}(`);
    environment.registerFunction(own, handler, { async: false } as object);
  }
  for (const [type, isEqual] of Object.entries(equals ?? {})) {
    environment.registerOperator(`${type} == ${type}`, isEqual);
  }
}

function createEnvironment(): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 10_000 },
  });
  for (const library of libraries) registerLibrary(environment, library);
  registerMacros(environment);
  environment
    .registerOperator("bytes < bytes", (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) < 0)
    .registerOperator("bytes <= bytes", (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) <= 0)
    .registerOperator("bytes > bytes", (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) > 0)
    .registerOperator("bytes >= bytes", (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) >= 0);
  return environment;
}

let made: Environment | undefined;

/** The environment without variables; clone it to declare them. It is created on first use. */
export function baseEnvironment(): Environment {
  made ??= createEnvironment();
  return made;
}
