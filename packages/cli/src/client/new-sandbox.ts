import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Sandbox } from "@agent-sandbox/api";
import { CommandError } from "../command-error.ts";
import { parsePublished } from "./published-ports.ts";

/** The options of `run` and `create` that describe the sandbox. */
export interface NewSandboxOptions {
  readonly name?: string;
  /** Default: that of `defaultImage`. */
  readonly image?: string;
  readonly runtime?: string;
  readonly env?: readonly string[];
  readonly volume?: readonly string[];
  readonly cpus?: string;
  readonly memory?: string;
  readonly workdir?: string;
  readonly label?: readonly string[];
  /** Each has the form `PORT` or `LOCAL:PORT`. */
  readonly publish?: readonly string[];
}

type Manifest = Pick<Sandbox, "apiVersion" | "kind" | "metadata" | "spec">;

/** A Sandbox that waits for commands. Its first process is the injected runtime, so that any image can be used. */
export function newSandbox(name: string, options: NewSandboxOptions & { readonly image: string }): Manifest {
  const { image, runtime, cpus, memory, workdir } = options;
  const mounts = (options.volume ?? []).map(parseVolume);
  const ports = new Set((options.publish ?? []).map((text) => parsePublished(text).port));
  const limits = { ...(cpus !== undefined && { cpu: cpus }), ...(memory !== undefined && { memory }) };
  const container = {
    name: "main",
    image,
    ...(options.env !== undefined && { env: options.env.map(parseVariable) }),
    ...(workdir !== undefined && { workingDir: workdir }),
    ...(Object.keys(limits).length > 0 && { resources: { limits, requests: zeroOf(limits) } }),
    ...(ports.size > 0 && { ports: [...ports].map((containerPort) => ({ containerPort })) }),
    ...(mounts.length > 0 && {
      volumeMounts: mounts.map(({ path, readOnly }, index) => ({ name: `host-${index}`, mountPath: path, readOnly })),
    }),
  };
  const volumes = mounts.map(({ host }, index) => ({ name: `host-${index}`, hostPath: { path: host } }));
  const spec = {
    containers: [container],
    ...(volumes.length > 0 && { volumes }),
    ...(runtime !== undefined && { runtimeClassName: runtime }),
  };
  const labels = Object.fromEntries((options.label ?? []).map((text) => pairOf(text, "label")));
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, ...(options.label !== undefined && { labels }) },
    spec: { runtime: "Injected", podTemplate: { spec } },
  };
}

/** Kubernetes reserves the limits for containers without requests. The flags of `run` and `create` limit and reserve nothing. */
const zeroOf = (limits: object): Record<string, string> =>
  Object.fromEntries(Object.keys(limits).map((name) => [name, "0"]));

function pairOf(text: string, what: string): readonly [string, string] {
  const sign = text.indexOf("=");
  if (sign < 1) throw new CommandError(`Cannot read ${what} "${text}": write NAME=value`);
  return [text.slice(0, sign), text.slice(sign + 1)];
}

/** `NAME=value`, or `NAME` for the value that the variable has here, as in docker. */
export function parseVariable(text: string): { readonly name: string; readonly value: string } {
  if (!text.includes("=")) {
    const value = process.env[text];
    if (value === undefined) throw new CommandError(`Cannot pass variable "${text}": it is not set here`);
    return { name: text, value };
  }
  const [name, value] = pairOf(text, "variable");
  return { name, value };
}

/** `HOST:PATH` or `HOST:PATH:ro`; `HOST` alone is mounted at the same path. Relative folders are those of the present folder. */
export function parseVolume(text: string): {
  readonly host: string;
  readonly path: string;
  readonly readOnly: boolean;
} {
  const [host = "", path, mode, ...rest] = text.split(":");
  if (host === "" || rest.length > 0 || (mode !== undefined && mode !== "ro" && mode !== "rw")) {
    throw new CommandError(`Cannot read volume "${text}": write HOST:PATH or HOST:PATH:ro`);
  }
  const folder = resolve(host);
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
    throw new CommandError(`Cannot mount "${folder}": it does not exist`);
  }
  const inside = path ?? folder;
  if (!inside.startsWith("/")) throw new CommandError(`Cannot mount at "${inside}": write an absolute path`);
  return { host: folder, path: inside, readOnly: mode === "ro" };
}
