import { originProblem, parseDurationMs, parseListenAddress } from "@agent-sandbox/api";
import { parseConfigFile } from "./config-file.ts";
import { type Flag, type FlagKind, type FlagName, flags, isFlag } from "./flags.ts";

export type Values = Readonly<Record<FlagName, string>>;

export interface ConfigSources {
  /** Without the name of the command. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws if the file cannot be read. */
  readonly readFile: (path: string) => string;
}

export type ConfigResult = { readonly values: Values } | { readonly errors: readonly string[] };

/** Reads the configuration. The command line overrides the file, that overrides the environment, that the defaults. */
export function readConfig({ args, env, readFile }: ConfigSources): ConfigResult {
  const errors: string[] = [];
  const given = readArgs(args, errors);
  const path = given.get("config") ?? env["SANDBOX_ROUTER_CONFIG"];
  given.delete("config");
  const fromFile =
    path === undefined || path === "" ? new Map<string, string>() : readConfigFile(path, readFile, errors);
  for (const name of [...given.keys(), ...fromFile.keys()])
    if (!isFlag(name)) errors.push(`Unknown setting: "${name}"`);
  const entries = Object.entries(flags).map(([name, flag]) => {
    const value = given.get(name) ?? fromFile.get(name) ?? fromEnv(name, flag, env) ?? flag.fallback;
    if (!isValid(value, flag)) errors.push(`Invalid value for "${name}": "${value}" is not ${descriptionOf(flag)}`);
    return [name, value] as const;
  });
  const values = Object.fromEntries(entries) as Values;
  errors.push(...conflicts(values));
  return errors.length === 0 ? { values } : { errors };
}

/** `--flag=value`, `--flag value`, and `--switch` alone. A later value replaces an earlier one, except that origins are collected. */
function readArgs(args: readonly string[], errors: string[]): Map<string, string> {
  const given = new Map<string, string>();
  const set = (name: string, value: string): void => {
    const before = isFlag(name) && flags[name].kind === "origins" ? given.get(name) : undefined;
    given.set(name, before === undefined ? value : `${before},${value}`);
  };
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    const [, name, value] = /^--?([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) {
      errors.push(`Unknown argument: "${arg}"`);
      continue;
    }
    const isSwitch = isFlag(name) && flags[name].kind === "switch";
    if (value !== undefined || isSwitch) set(name, value ?? "true");
    else {
      index += 1;
      const next = args[index];
      if (next === undefined) errors.push(`${isFlag(name) ? "Missing value for" : "Unknown setting:"} "${name}"`);
      else set(name, next);
    }
  }
  return given;
}

function readConfigFile(
  path: string,
  readFile: (path: string) => string,
  errors: string[],
): ReadonlyMap<string, string> {
  try {
    const parsed = parseConfigFile(readFile(path));
    if ("values" in parsed) return parsed.values;
    errors.push(`Cannot use the configuration "${path}": ${parsed.error}`);
  } catch (error) {
    errors.push(`Cannot read the configuration "${path}": ${error instanceof Error ? error.message : String(error)}`);
  }
  return new Map();
}

function fromEnv(name: string, flag: Flag, env: ConfigSources["env"]): string | undefined {
  if (name === "proxy-timeout") {
    const seconds = Number(env["PROXY_TIMEOUT_SECONDS"] ?? "");
    return Number.isFinite(seconds) && seconds > 0 ? `${seconds}s` : undefined;
  }
  if (name === "enable-tracing") {
    const endpoint = env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? "";
    return endpoint === "" ? undefined : "true";
  }
  const value = flag.env === undefined ? undefined : env[flag.env];
  return value === "" ? undefined : value;
}

function descriptionOf({ kind, values }: Flag): string {
  return values === undefined ? descriptionOfKind[kind] : `one of ${values.join(", ")}`;
}

const descriptionOfKind: Readonly<Record<FlagKind, string>> = {
  text: "a text",
  list: "a list",
  origins: "a list of origins such as https://app.example",
  address: "an address such as :8080 or 127.0.0.1:8080",
  duration: "a duration such as 90s or 200ms",
  positiveDuration: "a duration such as 90s or 200ms, above zero",
  count: "a whole number",
  positiveCount: "a whole number above zero",
  switch: "true or false",
  level: "debug, info, warn, error or a number",
};

function isValid(value: string, { kind, values }: Flag): boolean {
  const isKnown = (one: string): boolean => values === undefined || values.includes(one);
  switch (kind) {
    case "text":
      return isKnown(value);
    case "list":
      return splitList(value).every(isKnown);
    case "origins":
      return splitList(value).every((origin) => originProblem(origin, []) === undefined);
    case "address":
      return value === "" || parseListenAddress(value) !== undefined;
    case "duration":
      return (parseDurationMs(value) ?? -1) >= 0;
    case "positiveDuration":
      return (parseDurationMs(value) ?? 0) > 0;
    case "count":
      return /^\d{1,15}$/.test(value);
    case "positiveCount":
      return /^[1-9]\d{0,14}$/.test(value);
    case "switch":
      return ["true", "false", "1", "0", ""].includes(value);
    case "level":
      return /^(?:|debug|info|warn|error|\d{1,3})$/.test(value);
    default:
      return kind satisfies never;
  }
}

/** The log level. */
export function logLevelOf(values: Values): "debug" | "info" | "warn" | "error" {
  const level = values["zap-log-level"];
  if (level === "warn" || level === "error" || level === "info") return level;
  if (level !== "") return "debug";
  return values["zap-devel"] === "true" || values["zap-devel"] === "1" ? "debug" : "info";
}

/** Settings that are valid on their own and not together. */
function conflicts(values: Values): string[] {
  const found: string[] = [];
  const modes = splitList(values["authz-mode"]);
  if (values["http-bind-address"] === "" && values["https-bind-address"] === "") found.push("No address to listen on");
  if (values["https-bind-address"] !== "" && (values["tls-cert-file"] === "" || values["tls-key-file"] === "")) {
    found.push("HTTPS requires tls-cert-file and tls-key-file");
  }
  if (values["mtls-mode"] !== "off" && (values["https-bind-address"] === "" || values["tls-client-ca-file"] === "")) {
    found.push("mtls-mode requires https-bind-address and tls-client-ca-file");
  }
  if (modes.length === 0) found.push("authz-mode must not be empty");
  if (modes.includes("allow-all") && modes.length > 1)
    found.push("authz-mode allow-all cannot be combined with others");
  for (const origin of splitList(values["allow-origin"])) {
    if (originProblem(origin, []) !== undefined) continue;
    const problem = originProblem(origin, splitList(values.domain));
    if (problem !== undefined) found.push(`Invalid value for "allow-origin": ${problem}`);
  }
  if (values["cluster-domain"] === "") found.push("cluster-domain must not be empty");
  if (modes.length === 1 && modes[0] === "scoped-token" && values["authz-scoped-token-secret-file"] === "") {
    found.push("authz-mode scoped-token requires authz-scoped-token-secret-file");
  }
  return found;
}

export function splitList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
