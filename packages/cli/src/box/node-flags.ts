import { resolve } from "node:path";
import { parseQuantity } from "@agent-sandbox/api";
import { checkSettings, type NodeSettings } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";

/** The flags of `up` that configure the node for one start. `config.json` in the data folder configures every start. */
export interface NodeFlags {
  readonly allowPrivileged?: boolean;
  readonly allowHostPath?: readonly string[];
  /** Each has the form `name=program`. */
  readonly runtime?: readonly string[];
  readonly defaultRuntime?: string;
  readonly allowRuntime?: readonly string[];
  readonly stateKeyFile?: readonly string[];
  /** Each has the form `name=quantity`. */
  readonly stateLimit?: readonly string[];
}

/** Converts the flags to node settings. Throws on an invalid flag, before anything is started. */
export function settingsOf(flags: NodeFlags): NodeSettings {
  const { allowPrivileged, allowHostPath, runtime, defaultRuntime, allowRuntime, stateKeyFile, stateLimit } = flags;
  const allow = {
    ...(allowPrivileged !== undefined && { privileged: allowPrivileged }),
    ...(allowHostPath !== undefined && { hostPaths: allowHostPath }),
  };
  const settings = {
    ...(Object.keys(allow).length > 0 && { allow }),
    ...(runtime !== undefined && { runtimes: runtime.map(parseRuntime) }),
    ...(defaultRuntime !== undefined && { defaultRuntime }),
    ...(allowRuntime !== undefined && { allowedRuntimes: allowRuntime }),
    ...(stateKeyFile !== undefined && { stateKeyFiles: stateKeyFile.map((file) => resolve(file)) }),
    ...(stateLimit !== undefined && { state: Object.fromEntries(stateLimit.map(parseLimit)) }),
  };
  return checkSettings(settings, "Cannot start the box: its options");
}

/** Converts the flags back to command-line arguments, for the background process. */
export function wordsOf(flags: NodeFlags): string[] {
  const { allowPrivileged, allowHostPath = [], runtime = [], defaultRuntime, allowRuntime = [] } = flags;
  const { stateKeyFile = [], stateLimit = [] } = flags;
  return [
    ...(allowPrivileged === true ? ["--allow-privileged"] : []),
    ...allowHostPath.flatMap((folder) => ["--allow-host-path", folder]),
    ...runtime.flatMap((one) => ["--runtime", one]),
    ...(defaultRuntime === undefined ? [] : ["--default-runtime", defaultRuntime]),
    ...allowRuntime.flatMap((name) => ["--allow-runtime", name]),
    // The background process has another working folder.
    ...stateKeyFile.flatMap((file) => ["--state-key-file", resolve(file)]),
    ...stateLimit.flatMap((one) => ["--state-limit", one]),
  ];
}

/** The settings check the name and the number. */
function parseLimit(text: string): [name: string, value: number] {
  const [, name, value = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const quantity = parseQuantity(value);
  if (name !== undefined && !("error" in quantity)) return [name, Number(quantity.nanos) / 1e9];
  throw new CommandError(`Cannot set the limit "${text}": write name=quantity, as in bytes=20Gi or snapshots=100`);
}

function parseRuntime(text: string): { name: string; program: string } {
  const [, name, program] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && program !== undefined) return { name, program };
  throw new CommandError(
    `Cannot register runtime "${text}": write name=program, as in kata=/opt/kata/bin/kata-runtime`,
  );
}
