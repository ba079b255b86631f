import { parseDurationMs } from "@agent-sandbox/api";
import { type FlagKind, type FlagName, flagTable, type ManagerFlags } from "./flag-table.ts";

export type ParsedFlags =
  | { readonly flags: ManagerFlags; readonly warnings: readonly string[]; readonly error?: never }
  | { readonly error: string };

/**
 * Parses arguments like Go's flag package: `--name=value`, `--name value`, `--switch`, with one dash or two. `defaults` replace those
 * of the table.
 */
export function parseFlags(args: readonly string[], defaults: Partial<ManagerFlags> = {}): ParsedFlags {
  const initial = Object.entries(flagTable).map(([name, row]): [string, unknown] => [name, row.initial]);
  const values = new Map<string, unknown>([...initial, ...Object.entries(defaults)]);
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const [, name = "", , inline] = /^--?([^=\s-][^=]*)(=(.*))?$/s.exec(arg) ?? [];
    if (!Object.hasOwn(flagTable, name)) return { error: `Cannot parse "${arg}": unknown flag` };
    const { kind } = flagTable[name as FlagName];
    const text = inline ?? (kind === "boolean" ? "true" : left.shift());
    if (text === undefined) return { error: `Cannot parse "${arg}": the flag needs a value` };
    const value = read(kind, text);
    if (value === undefined) return { error: `Cannot parse --${name}="${text}": want ${wanted[kind]}` };
    values.set(name, value);
  }
  const flags = Object.fromEntries(values) as unknown as ManagerFlags;
  const error = validate(flags);
  return error === undefined ? { flags, warnings: warn(flags) } : { error };
}

const wanted: Readonly<Record<FlagKind, string>> = {
  boolean: "true or false",
  integer: "a whole number",
  number: "a finite number",
  duration: "a duration such as 30s or 5m",
  text: "text",
  list: "namespaces separated by commas",
};

const truths: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  T: true,
  true: true,
  TRUE: true,
  True: true,
  "0": false,
  f: false,
  F: false,
  false: false,
  FALSE: false,
  False: false,
};

const namespaceName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function read(kind: FlagKind, text: string): unknown {
  switch (kind) {
    case "boolean":
      return Object.hasOwn(truths, text) ? truths[text] : undefined;
    case "integer":
      return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined;
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    case "duration":
      return parseDurationMs(text);
    case "text":
      return text;
    case "list": {
      const names = text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
      return names.every((name) => namespaceName.test(name)) ? [...new Set(names)] : undefined;
    }
    default:
      return kind satisfies never;
  }
}

const positive: readonly FlagName[] = [
  "kube-api-burst",
  "api-connections",
  "sandbox-concurrent-workers",
  "sandbox-claim-concurrent-workers",
  "sandbox-warm-pool-concurrent-workers",
  "sandbox-warm-pool-max-batch-size",
  "sandbox-warm-pool-readiness-grace-period",
  "sandbox-warm-pool-unschedulable-recheck-interval",
];
const notNegative: readonly FlagName[] = [
  "sandbox-warm-pool-max-refill-rate",
  "sandbox-warm-pool-replenish-delay",
  "sandbox-write-behind-window",
];
const deliveries: readonly string[] = ["InitContainer", "ImageVolume"];
const pullPolicies: readonly string[] = ["Always", "IfNotPresent", "Never"];
const levels: readonly string[] = ["", "debug", "info", "warn", "error"];

function validate(flags: ManagerFlags): string | undefined {
  for (const name of positive) {
    if (!(Number(flags[name]) > 0)) return `Cannot use --${name}=${String(flags[name])}: it must be above 0`;
  }
  for (const name of notNegative) {
    if (!(Number(flags[name]) >= 0)) return `Cannot use --${name}=${String(flags[name])}: it must not be below 0`;
  }
  const port = flags["webhook-port"];
  if (port < 0 || port > 65_535) return `Cannot use --webhook-port=${port}: want a port`;
  for (const name of ["webhook-cert-name", "webhook-key-name"] as const) {
    if (flags[name].trim() === "") return `Cannot use --${name}: it must not be blank`;
  }
  const router = flags["router-namespace"];
  if (!namespaceName.test(router)) return `Cannot use --router-namespace="${router}": want a namespace`;
  const delivery = flags["runtime-delivery"];
  if (!deliveries.includes(delivery)) {
    return `Cannot use --runtime-delivery=${delivery}: want ${deliveries.join(" or ")}`;
  }
  if (/\s/.test(flags["runtime-image"])) return `Cannot use --runtime-image="${flags["runtime-image"]}": want an image`;
  const policy = flags["runtime-image-pull-policy"];
  if (!pullPolicies.includes(policy)) {
    return `Cannot use --runtime-image-pull-policy=${policy}: want ${pullPolicies.join(", ")}`;
  }
  const level = flags["zap-log-level"];
  if (!levels.includes(level)) return `Cannot use --zap-log-level=${level}: want debug, info, warn or error`;
  return undefined;
}

/** Above this number of workers the flags are probably wrong. */
const manyWorkers = 1000;

export function workersOf(flags: ManagerFlags): number {
  return (
    flags["sandbox-concurrent-workers"] +
    flags["sandbox-claim-concurrent-workers"] +
    flags["sandbox-warm-pool-concurrent-workers"] +
    Math.max(1, flags["sandbox-template-concurrent-workers"])
  );
}

function warn(flags: ManagerFlags): string[] {
  const workers = workersOf(flags);
  const [qps, burst] = [flags["kube-api-qps"], flags["kube-api-burst"]];
  const ownFiles =
    flags["webhook-cert-name"] !== flagTable["webhook-cert-name"].initial ||
    flags["webhook-key-name"] !== flagTable["webhook-key-name"].initial;
  return [
    workers > manyWorkers ? `${workers} workers in total is more than ${manyWorkers}` : "",
    qps > 0 && workers > burst ? `${workers} workers share a burst of ${burst} requests` : "",
    flags["separate-watch-connection"]
      ? ""
      : "--separate-watch-connection=false has no effect: watches always use separate connections",
    ownFiles && flags["manage-webhook-certs"]
      ? "--webhook-cert-name and --webhook-key-name have no effect with --manage-webhook-certs"
      : "",
  ].filter((text) => text !== "");
}
