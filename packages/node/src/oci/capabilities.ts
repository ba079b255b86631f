/**
 * What root inside a sandbox may do with its own files, users, processes and low ports. Smaller than the usual default
 * of container engines: no raw sockets, no device nodes, no file capabilities, no chroot, no audit records.
 */
export const defaultCapabilities: readonly string[] = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  "CAP_NET_BIND_SERVICE",
  "CAP_SETGID",
  "CAP_SETUID",
];

/** What a Pod may ask for on top: capabilities that stay within the sandbox's own namespaces and files. */
export const addableCapabilities: readonly string[] = [
  ...defaultCapabilities,
  "CAP_AUDIT_WRITE",
  "CAP_NET_RAW",
  "CAP_SETFCAP",
  "CAP_SETPCAP",
  "CAP_SYS_CHROOT",
];

/** Everything the kernel knows: for privileged containers, where the operator allows them. */
export const allCapabilities: readonly string[] = [
  ...addableCapabilities,
  ...[
    "AUDIT_CONTROL AUDIT_READ BLOCK_SUSPEND BPF CHECKPOINT_RESTORE DAC_READ_SEARCH IPC_LOCK IPC_OWNER LEASE",
    "LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BROADCAST PERFMON SYSLOG SYS_ADMIN SYS_BOOT SYS_MODULE",
    "SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM",
  ].flatMap((line) => line.split(" ").map((name) => `CAP_${name}`)),
];

export interface CapabilityChange {
  readonly add?: readonly string[];
  readonly drop?: readonly string[];
}

/** As the kubelet: `drop: [ALL]` empties the set first, then `add` applies, and a plain `drop` wins over the default. */
export function capabilitiesFor(change: CapabilityChange | undefined): string[] {
  const dropped = (change?.drop ?? []).map(capabilityName);
  const kept = dropped.includes("CAP_ALL") ? [] : defaultCapabilities.filter((name) => !dropped.includes(name));
  return [...new Set([...kept, ...(change?.add ?? []).map(capabilityName)])].toSorted();
}

/** Kubernetes names capabilities without their prefix, in any case. */
export function capabilityName(name: string): string {
  const upper = name.toUpperCase();
  return upper.startsWith("CAP_") ? upper : `CAP_${upper}`;
}
