import { resolve } from "node:path";
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
}

/** Converts the flags to node settings. Throws on an invalid flag, before anything is started. */
export function settingsOf(flags: NodeFlags): NodeSettings {
  const { allowPrivileged, allowHostPath, runtime, defaultRuntime, allowRuntime, stateKeyFile } = flags;
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
  };
  return checkSettings(settings, "Cannot start the box: its options");
}

/** Converts the flags back to command-line arguments, for the background process. */
export function wordsOf(flags: NodeFlags): string[] {
  const { allowPrivileged, allowHostPath = [], runtime = [], defaultRuntime, allowRuntime = [] } = flags;
  const { stateKeyFile = [] } = flags;
  return [
    ...(allowPrivileged === true ? ["--allow-privileged"] : []),
    ...allowHostPath.flatMap((folder) => ["--allow-host-path", folder]),
    ...runtime.flatMap((one) => ["--runtime", one]),
    ...(defaultRuntime === undefined ? [] : ["--default-runtime", defaultRuntime]),
    ...allowRuntime.flatMap((name) => ["--allow-runtime", name]),
    // The background process has another working folder.
    ...stateKeyFile.flatMap((file) => ["--state-key-file", resolve(file)]),
  ];
}

function parseRuntime(text: string): { name: string; program: string } {
  const [, name, program] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && program !== undefined) return { name, program };
  throw new CommandError(
    `Cannot register runtime "${text}": write name=program, as in kata=/opt/kata/bin/kata-runtime`,
  );
}
