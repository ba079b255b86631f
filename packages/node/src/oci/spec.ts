/** The part of the OCI runtime specification that this node uses. */
export interface OciSpec {
  readonly ociVersion: string;
  readonly process: OciProcess;
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname: string;
  readonly mounts: readonly OciMount[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: OciLinux;
}

export interface OciProcess {
  readonly terminal: boolean;
  readonly user: {
    readonly uid: number;
    readonly gid: number;
    readonly umask: number;
    readonly additionalGids: readonly number[];
  };
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
  readonly noNewPrivileges: boolean;
  readonly oomScoreAdj: number;
}

export interface OciMount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface OciNamespace {
  readonly type: string;
  /** The namespace to join. Absent: a new namespace. */
  readonly path?: string;
}

export interface OciLinux {
  readonly namespaces: readonly OciNamespace[];
  readonly cgroupsPath: string;
  readonly resources: OciResources;
  readonly sysctl: Readonly<Record<string, string>>;
  /** Absent: no filter. */
  readonly seccomp?: OciSeccomp;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly rootfsPropagation: "private";
}

export interface OciResources {
  readonly devices: readonly { readonly allow: boolean; readonly access: string }[];
  readonly memory: { readonly limit: number; readonly swap?: number };
  readonly cpu: { readonly shares: number; readonly quota?: number; readonly period?: number };
  readonly pids: { readonly limit: number };
}

export interface OciSeccomp {
  readonly defaultAction: "SCMP_ACT_ERRNO";
  readonly defaultErrnoRet: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly OciSyscallRule[];
}

export interface OciSyscallRule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly {
    readonly index: number;
    readonly value: number;
    readonly valueTwo?: number;
    readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";
  }[];
}
