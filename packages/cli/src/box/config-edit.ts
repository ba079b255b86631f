import { checkSettings } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";
import { checkApiSettings } from "./api-settings.ts";
import { checkBoxSettings } from "./box-settings.ts";
import { isObject } from "./config-file.ts";

/** The content of `config.json`. */
export type Config = Readonly<Record<string, unknown>>;

const parts: readonly string[] = ["box", "node", "apiServer"];

/** Throws what `up` would refuse. */
export function checkConfig(config: Config): void {
  const refuse = (why: string): CommandError => new CommandError(`Cannot use the setting: ${why}`);
  const unknown = Object.keys(config).find((part) => !parts.includes(part));
  if (unknown !== undefined) throw refuse(`${unknown} is unknown; settings begin with ${parts.join(", ")}`);
  checkBoxSettings(config["box"] ?? {}, refuse);
  checkApiSettings(config["apiServer"] ?? {}, refuse);
  checkSettings(config["node"] ?? {}, "Cannot use the setting: node");
}

/** The fields of a key such as `node.allow.hostPaths`. */
export function parseKey(key: string): readonly string[] {
  const fields = key.split(".");
  if (fields.length > 1 && fields.every((field) => /^[A-Za-z][\w-]*$/.test(field))) return fields;
  throw new CommandError(`Cannot read setting "${key}": write its path, as in box.listen or node.allow.hostPaths`);
}

/** JSON, or a text that is not JSON. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A copy with another value, or without the setting if the value is undefined. Objects that become empty are removed. */
export function withSetting(config: Config, [field = "", ...rest]: readonly string[], value: unknown): Config {
  const { [field]: _old, ...others } = config;
  const old = Object.hasOwn(config, field) ? config[field] : undefined;
  if (rest.length > 0 && old !== undefined && !isObject(old)) {
    throw new CommandError(`Cannot change "${rest.join(".")}" in ${JSON.stringify(old)}: it is not an object`);
  }
  const changed = rest.length === 0 ? value : withSetting((old ?? {}) as Config, rest, value);
  const isGone = changed === undefined || (rest.length > 0 && Object.keys(changed as Config).length === 0);
  return isGone ? others : { ...config, [field]: changed };
}

/** The settings of a file with their paths; lists are values. */
export function flatten(config: Config, above = ""): readonly { readonly key: string; readonly value: unknown }[] {
  return Object.entries(config).flatMap(([field, value]) =>
    isObject(value) ? flatten(value, `${above}${field}.`) : [{ key: `${above}${field}`, value }],
  );
}
