/** The parts of Kubernetes objects that the SDK reads and writes. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

/** A type parameter only for the compiler: the kind of the objects. */
export interface Resource<T extends KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly object?: T;
}

export type Depth = "Volumes" | "Filesystem" | "Memory";

export interface SandboxObject extends KubeObject {
  readonly spec: {
    readonly podTemplate: { readonly metadata?: object; readonly spec: object };
    readonly operatingMode?: "Running" | "Suspended";
    readonly shutdownTime?: string;
    readonly [field: string]: unknown;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly podIPs?: readonly string[];
    readonly nodeName?: string;
    readonly lastActivityTime?: string;
    readonly suspension?: Suspension;
  };
}

/** What the last suspension kept, and what the last resume restored. */
export interface Suspension {
  readonly depth?: Depth;
  readonly time?: string;
  readonly sizeBytes?: number;
  readonly epoch?: number;
  readonly restored?: Depth;
  readonly restoredFrom?: { readonly name?: string; readonly uid: string };
}

export interface ClaimObject extends KubeObject {
  readonly spec: {
    readonly warmPoolRef: { readonly name: string };
    readonly lifecycle?: { readonly shutdownTime?: string; readonly shutdownPolicy?: string };
    readonly [field: string]: unknown;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly sandbox?: { readonly name?: string; readonly podIPs?: readonly string[] };
  };
}

export interface PoolObject extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly sandboxTemplateRef: { readonly name: string } };
}

export interface SnapshotObject extends KubeObject {
  readonly spec: { readonly sandboxRef?: { readonly name: string }; readonly [field: string]: unknown };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly depth?: Depth;
    readonly sizeBytes?: number;
    readonly pauseMilliseconds?: number;
    readonly createdAt?: string;
    readonly sourceName?: string;
  };
}

const extensions = "extensions.agents.x-k8s.io/v1beta1";

export const sandboxes: Resource<SandboxObject> = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  plural: "sandboxes",
};
export const claims: Resource<ClaimObject> = { apiVersion: extensions, kind: "SandboxClaim", plural: "sandboxclaims" };
export const pools: Resource<PoolObject> = {
  apiVersion: extensions,
  kind: "SandboxWarmPool",
  plural: "sandboxwarmpools",
};
export const snapshots: Resource<SnapshotObject> = {
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  plural: "sandboxsnapshots",
};

/** The condition of this type, unless it describes an older spec. */
export function currentCondition(
  { metadata, status }: KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  const isOld = (found?.observedGeneration ?? Number.POSITIVE_INFINITY) < (metadata.generation ?? 0);
  return isOld ? undefined : found;
}
