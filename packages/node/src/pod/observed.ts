import type { BackoffPolicy } from "./backoff.ts";

/** How the current run of a container stands on the machine. */
export interface Life {
  readonly alive: boolean;
  /** Absent while it lives, and when its monitor died before it could write down the end. */
  readonly exit?: { readonly code: number; readonly finishedAt: number; readonly outOfMemory: boolean };
}

/** What the probes of a running container say. Probes it does not have say the best. */
export interface Health {
  readonly started: boolean;
  readonly ready: boolean;
  /** The probe that has found the container beyond hope, and what it allows it to end. */
  readonly failed?: { readonly probe: "liveness" | "startup"; readonly graceMs?: number };
}

export type TaskState =
  | { readonly state: "running" }
  | { readonly state: "done"; readonly result?: string }
  | { readonly state: "failed"; readonly reason: string; readonly message: string };

/** What the operator of this node lets Pods ask for. */
export interface Allowances {
  /** Containers that are root on this machine in all but name. Default false. */
  readonly privileged: boolean;
  /** Folders of the machine that Pods may mount, with what lies below them. Default none. */
  readonly hostPaths: readonly string[];
  /** Pods that ask for the machine's own users (`hostUsers: true`) where they could have users of their own. Default false. */
  readonly hostUsers: boolean;
}

export interface NodeRules {
  /** What works on this machine, in the order of preference. */
  readonly runtimes: readonly string[];
  /** Those of them that a Pod may use. */
  readonly allowedRuntimes: readonly string[];
  /** For Pods that name none. */
  readonly defaultRuntime: string;
  /** The runtimes among them under which no user of a container is one of the machine's. */
  readonly ownUsers: readonly string[];
  /** The runtimes among them under which a sandbox has a kernel of its own. */
  readonly ownKernels: readonly string[];
  readonly allow: Allowances;
  readonly backoff: BackoffPolicy;
}
