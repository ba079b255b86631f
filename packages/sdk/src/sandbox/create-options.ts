import type { CallOptions } from "../deadline.ts";
import { SandboxError } from "../errors.ts";
import { type ClaimObject, claims, type Depth, type SandboxObject, sandboxes } from "../kube/resources.ts";
import { requestIdAnnotation } from "./create-once.ts";

/** What a new sandbox is made of. Name exactly one of `image`, `pool`, `template` and `snapshot`. */
export interface CreateOptions extends CallOptions {
  /** A container image. `host` is the machine's own programs, on a box. */
  readonly image?: string;
  /** A SandboxWarmPool: one of its members, or a new sandbox of its template. */
  readonly pool?: string;
  /** A SandboxTemplate. A pool of this template is used if there is one. */
  readonly template?: string;
  /** A SandboxSnapshot: the sandbox continues from there. */
  readonly snapshot?: string;

  /** Default: `sandbox-` and random characters. */
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The sandbox is deleted after this time. */
  readonly lifetimeSeconds?: number;
  /**
   * Makes a create that is repeated by another process return the same sandbox. Needs a `name`. Default: a random id, so that only
   * this call is repeated.
   */
  readonly requestId?: string;

  /** Only with `image`. The program of the sandbox. Default: none, the sandbox waits for commands. */
  readonly command?: readonly string[];
  /** Only with `image`. For example `gvisor` or `runc`. Default: that of the installation. */
  readonly runtimeClass?: string;
  /** Only with `image`. Limits, as Kubernetes quantities: `500m`, `1Gi`. */
  readonly cpu?: string;
  readonly memory?: string;
  /** Only with `image`. Suspends the sandbox after this many seconds without activity. */
  readonly suspendAfterSeconds?: number;
  /** Only with `image`. What a suspension keeps. */
  readonly suspendDepth?: Depth;
}

const sources = ["image", "pool", "template", "snapshot"] as const;
const imageOnly = ["command", "runtimeClass", "cpu", "memory", "suspendAfterSeconds", "suspendDepth"] as const;

/** Throws if the options contradict each other. */
export function checkOptions(options: CreateOptions): void {
  const named = sources.filter((source) => options[source] !== undefined);
  const list = sources.join(", ");
  if (named.length !== 1) {
    const what = named.length === 0 ? "none of them is set" : `${named.join(" and ")} are set`;
    throw new SandboxError("InvalidArgument", `Cannot create a sandbox: name one of ${list}; ${what}`);
  }
  const extra = imageOnly.find((field) => options[field] !== undefined);
  if (extra !== undefined && options.image === undefined) {
    throw new SandboxError("InvalidArgument", `Cannot create a sandbox: ${extra} can be used with image only`);
  }
  if (options.snapshot !== undefined && options.env !== undefined) {
    throw new SandboxError("InvalidArgument", "Cannot create a sandbox: env cannot be changed in a snapshot");
  }
  const { lifetimeSeconds } = options;
  if (lifetimeSeconds !== undefined && !(Number.isFinite(lifetimeSeconds) && lifetimeSeconds > 0)) {
    const message = `Cannot create a sandbox: lifetimeSeconds is ${lifetimeSeconds} instead of a positive number`;
    throw new SandboxError("InvalidArgument", message);
  }
}

export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly requestId: string;
  readonly now: number;
}

function metadataOf({ labels }: CreateOptions, { name, namespace, requestId }: Identity): SandboxObject["metadata"] {
  return {
    name,
    namespace,
    labels: { [createdBy]: "typescript-client", ...labels },
    annotations: { [requestIdAnnotation]: requestId },
  };
}

const createdBy = "agents.x-k8s.io/created-by";

function expiryOf({ lifetimeSeconds }: CreateOptions, now: number): { shutdownTime?: string; shutdownPolicy?: string } {
  if (lifetimeSeconds === undefined) return {};
  // The API has whole seconds.
  const shutdownTime = new Date(now + lifetimeSeconds * 1000).toISOString().replace(/\.\d+/, "");
  return { shutdownTime, shutdownPolicy: "Delete" };
}

/** A Sandbox that runs an image. */
export function sandboxOf(options: CreateOptions, identity: Identity): SandboxObject {
  const { image = "", command, runtimeClass, cpu, memory, env, suspendAfterSeconds, suspendDepth } = options;
  const limits = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
  const container = {
    name: "main",
    image,
    ...(command !== undefined && { command }),
    ...(env !== undefined && { env: variablesOf(env) }),
    ...(Object.keys(limits).length > 0 && { resources: { limits } }),
  };
  const podSpec = { containers: [container], ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }) };
  const { apiVersion, kind } = sandboxes;
  return {
    apiVersion,
    kind,
    metadata: metadataOf(options, identity),
    spec: {
      runtime: "Injected",
      podTemplate: { spec: podSpec },
      ...(suspendAfterSeconds !== undefined && { idlePolicy: { suspendAfterSeconds } }),
      ...(suspendDepth !== undefined && { suspendPolicy: { depth: suspendDepth } }),
      ...expiryOf(options, identity.now),
    },
  };
}

/** A Sandbox that continues from a snapshot, with the spec of the Sandbox that the snapshot was taken of. */
export function forkOf(source: SandboxObject, options: CreateOptions, identity: Identity): SandboxObject {
  const { operatingMode: _mode, shutdownTime: _time, shutdownPolicy: _policy, ...kept } = source.spec;
  const restoreFrom = { snapshotRef: { name: options.snapshot } };
  const { apiVersion, kind } = sandboxes;
  return {
    apiVersion,
    kind,
    metadata: metadataOf(options, identity),
    spec: { ...kept, restoreFrom, ...expiryOf(options, identity.now) },
  };
}

/** A claim of a pool. */
export function claimOf(pool: string, options: CreateOptions, identity: Identity): ClaimObject {
  const { env } = options;
  const lifecycle = expiryOf(options, identity.now);
  const { apiVersion, kind } = claims;
  return {
    apiVersion,
    kind,
    metadata: metadataOf(options, identity),
    spec: {
      warmPoolRef: { name: pool },
      ...(env !== undefined && { env: variablesOf(env) }),
      ...(lifecycle.shutdownTime !== undefined && { lifecycle }),
    },
  };
}

function variablesOf(env: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}
