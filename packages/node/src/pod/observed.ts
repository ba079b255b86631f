import type { BackoffPolicy } from "./backoff.ts";

/** The state of a container's current run. */
export interface RunState {
  readonly alive: boolean;
  /** Absent while it runs, and when its monitor was killed before it wrote the exit code. */
  readonly exit?: { readonly code: number; readonly finishedAt: number; readonly outOfMemory: boolean };
}

/** The probe results of a running container. Probes that it does not have count as successful. */
export interface Health {
  readonly started: boolean;
  readonly ready: boolean;
  /** The probe that reached its failure threshold, and its termination grace period. */
  readonly failed?: { readonly probe: "liveness" | "startup"; readonly graceMs?: number };
}

export type TaskState =
  | { readonly state: "running" }
  | { readonly state: "done"; readonly result?: string }
  | { readonly state: "failed"; readonly reason: string; readonly message: string };

/** Privileges that the operator of this node can allow Pods. */
export interface Allowances {
  /** Privileged containers. They have full control of this machine. Default false. */
  readonly privileged: boolean;
  /** Folders of the machine that Pods may mount, including their subfolders. Default none. */
  readonly hostPaths: readonly string[];
  /** Pods with `hostUsers: true` where the runtime supports user namespaces. Default false. */
  readonly hostUsers: boolean;
}

export interface NodeRules {
  /** The runtimes that work on this machine, in order of preference. */
  readonly runtimes: readonly string[];
  /** The runtimes that Pods may use. */
  readonly allowedRuntimes: readonly string[];
  /** The runtime of Pods without `runtimeClassName`. */
  readonly defaultRuntime: string;
  /** The runtimes under which a container's users are not users of the machine. */
  readonly ownUsers: readonly string[];
  /** The runtimes that give each sandbox its own kernel. */
  readonly ownKernels: readonly string[];
  /** The runtimes that can save the memory of a Pod. */
  readonly canSave: readonly string[];
  readonly allow: Allowances;
  readonly backoff: BackoffPolicy;
}
