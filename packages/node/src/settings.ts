import { join, resolve } from "node:path";
import { compareQuantities } from "@agent-sandbox/api";
import type { Budget } from "./budget.ts";
import { NodeError } from "./errors.ts";
import type { ImageOptions } from "./image/open-images.ts";
import { parseSubnet } from "./network/subnet.ts";
import type { Offered } from "./node-object/node-object.ts";
import type { ResourceDefaults } from "./oci/resources.ts";
import { anything, list, matching, object, oneOf, type Refusal, type Rule, satisfying } from "./pod/field-rules.ts";
import type { Allowances } from "./pod/observed.ts";
import type { RuntimeRegistration } from "./runtime/oci-runtime.ts";
import type { RuntimeOptions } from "./runtime/open-runtimes.ts";
import type { StateLimits } from "./state/limits.ts";
import { readJson } from "./system/json-file.ts";

/** The operator's settings: the part "node" of `config.json` in the data folder. */
export interface NodeSettings {
  /** Runtimes in addition to gVisor and runc, or in their place. */
  readonly runtimes?: readonly RuntimeRegistration[];
  /** The runtime of Pods without `runtimeClassName`. Default: gVisor where it works, else runc. */
  readonly defaultRuntime?: string;
  /** The runtimes of Pods whose Namespace has no list of its own. Default: gVisor and `runtimes`; if gVisor does not work, all that work. */
  readonly allowedRuntimes?: readonly string[];
  readonly images?: Pick<ImageOptions, "registries" | "limits">;
  /** The path of sandboxd. Default: the one beside the program. */
  readonly sandboxd?: string;
  /** Dangerous privileges that Pods may request. */
  readonly allow?: Partial<Allowances>;
  /** The limits of containers that have none. */
  readonly defaults?: Partial<ResourceDefaults>;
  /** The limits of all sandboxes together. */
  readonly budget?: Partial<Budget>;
  /** The limits of saved memory and of snapshots. */
  readonly state?: Partial<StateLimits>;
  /** Files with keys for saved memory. The first key encrypts, all of them decrypt. */
  readonly stateKeyFiles?: readonly string[];
  /** The subnet of the Pods' addresses. Default: a network of 10.192.0.0/10 that the machine does not use. */
  readonly subnet?: string;
  /** The most Pods that are bound to the node. Default: the number of addresses in `subnet`. */
  readonly podCapacity?: number;
  /** What Pods may request together, as quantities. It may be more than the machine has. */
  readonly allocatable?: Offered;
}

/** The settings that decide which runtimes there are and which of them Pods may use. */
export type RuntimeSettings = Pick<NodeSettings, "runtimes" | "defaultRuntime" | "allowedRuntimes">;

/** Combines the runtimes of `config.json` with those of the command line, which add to them. */
export function runtimeChoices(
  file: RuntimeSettings,
  flags: RuntimeSettings,
): Pick<RuntimeOptions, "registrations" | "policy"> {
  return {
    registrations: [...(file.runtimes ?? []), ...(flags.runtimes ?? [])],
    policy: {
      allowed: file.allowedRuntimes,
      alsoAllowed: flags.allowedRuntimes,
      defaultRuntime: flags.defaultRuntime ?? file.defaultRuntime,
    },
  };
}

const word = matching(/^[^\0]+$/, "a text");
const name = matching(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/, "the name of a RuntimeClass");
const bytes = satisfying((value) => Number.isSafeInteger(value) && Number(value) >= 0, "a number above zero");
const count = satisfying((value) => Number.isSafeInteger(value) && Number(value) > 0, "a whole number above zero");
const folder = satisfying(
  (value) => typeof value === "string" && /^\/[^\0]*$/.test(value) && !/(^|\/)\.\.?(\/|$)/.test(value),
  'an absolute path without ".."',
);
const quantity = satisfying(
  (value) => typeof value === "string" && compareQuantities(value, "0") === 1,
  'a quantity above zero such as "8" or "64Gi"',
);
const percent = satisfying((value) => Number(value) > 0 && Number(value) <= 100, "a number from 1 to 100");

const rule: Rule = object({
  runtimes: list(
    object({
      name,
      program: word,
      args: list(word, 100),
      kind: oneOf("runc", "runsc"),
      allowVulnerable: oneOf(true, false),
    }),
    20,
  ),
  defaultRuntime: name,
  allowedRuntimes: list(name, 20),
  images: object({
    registries: list(object({ name: word, mirrors: list(word, 20), insecure: oneOf(true, false) }), 100),
    limits: object({
      imageBytes: bytes,
      imageEntries: bytes,
      storeBytes: bytes,
      highPercent: percent,
      lowPercent: percent,
      leastAgeMs: bytes,
    }),
  }),
  sandboxd: matching(/^\/[^\0]+$/, "an absolute path"),
  allow: object({ privileged: oneOf(true, false), hostPaths: list(folder, 100), hostUsers: oneOf(true, false) }),
  defaults: object({ memoryBytes: count, pids: count, diskBytes: count }),
  budget: object({ memoryBytes: count, pids: count, diskFreeBytes: bytes, inodesFree: bytes }),
  state: object({
    images: count,
    imagesPerNamespace: count,
    imageBytes: count,
    bytesPerNamespace: count,
    bytes: count,
    saves: count,
    snapshots: count,
    snapshotsPerNamespace: count,
    snapshotsPerSandbox: count,
    snapshotBytes: count,
    snapshotBytesPerNamespace: count,
  }),
  stateKeyFiles: list(matching(/^\/[^\0]+$/, "an absolute path"), 16),
  subnet: satisfying(
    (value) => typeof value === "string" && parseSubnet(value) !== undefined,
    'a network such as "10.1.0.0/16"',
  ),
  podCapacity: count,
  allocatable: object({ cpu: quantity, memory: quantity, "ephemeral-storage": quantity }),
});

export function settingsPath(dataDir: string): string {
  return join(resolve(dataDir), "config.json");
}

/** Reads the settings of a data folder; {} if there is no file. Unknown fields are refused, because they may be typos. */
export async function readSettings(dataDir: string): Promise<NodeSettings> {
  const path = settingsPath(dataDir);
  const whole = await readJson(path);
  if (whole === undefined) return {};
  const refusal = object({ node: anything, apiServer: anything, box: anything })(whole, "");
  if (refusal !== undefined)
    throw refused(`Cannot use "${path}":`, { ...refusal, path: refusal.path.replace(".", " ") });
  return checkSettings((whole as { readonly node?: unknown }).node ?? {}, `Cannot use "${path}": node`);
}

/** Validates settings. The error message begins with `where`. */
export function checkSettings(found: unknown, where: string): NodeSettings {
  const refusal = rule(found, "");
  if (refusal === undefined) return found as NodeSettings;
  throw refused(where, refusal);
}

function refused(where: string, { path, message }: Refusal): NodeError {
  return new NodeError("NodeSetup", `${where}${path}${path ? ": " : " "}${message}`);
}
