/**
 * The default capabilities. Fewer than those of other container engines: no raw sockets, device nodes, file capabilities,
 * chroot or audit records.
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

/** Capabilities that a Pod may add: they affect only the sandbox's own namespaces and files. */
export const addableCapabilities: readonly string[] = [
  ...defaultCapabilities,
  "CAP_AUDIT_WRITE",
  "CAP_NET_RAW",
  "CAP_SETFCAP",
  "CAP_SETPCAP",
  "CAP_SYS_CHROOT",
];

/**
 * Capabilities that a Pod may add only if the sandbox has its own kernel. On the machine's kernel SYS_PTRACE gives access to
 * the first process of an exec, which still has open files of the machine (CVE-2016-9962).
 */
export const ownKernelCapabilities: readonly string[] = ["CAP_SYS_PTRACE"];

/** In the order of the kernel's capability numbers. */
const allCapabilities: readonly string[] = [
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE",
  "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN",
  "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE",
  "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE",
].flatMap((line) => line.split(" ").map((name) => `CAP_${name}`));

/** Parses the bounding set from `/proc/<pid>/status`. Even root may lack capabilities, for example in a container. */
export function boundingSet(processStatus: string): string[] {
  const mask = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)$/m.exec(processStatus)?.[1] ?? "0"}`);
  return allCapabilities.filter((_, bit) => (mask >> BigInt(bit)) & 1n);
}

/** The bits of capabilities, as the kernel numbers them. Throws for a name that it does not know. */
export function capabilityBits(names: readonly string[]): number {
  const bits = new Set(names.map((name) => allCapabilities.indexOf(name)));
  if (bits.has(-1)) throw new Error(`Cannot use capabilities "${names.join(" ")}": one of them is unknown`);
  // Not with shifts, which have 32 bits.
  return [...bits].reduce((sum, bit) => sum + 2 ** bit, 0);
}

export interface CapabilityChange {
  readonly add?: readonly string[];
  readonly drop?: readonly string[];
}

/** Like the kubelet: `drop: [ALL]` clears the defaults, other drops remove single ones, then `add` applies. */
export function capabilitiesFor(change: CapabilityChange | undefined): string[] {
  const dropped = (change?.drop ?? []).map(capabilityName);
  const kept = dropped.includes("CAP_ALL") ? [] : defaultCapabilities.filter((name) => !dropped.includes(name));
  return [...new Set([...kept, ...(change?.add ?? []).map(capabilityName)])].toSorted();
}

/** Adds the prefix CAP_, which Kubernetes omits, and normalises the case. */
export function capabilityName(name: string): string {
  const upper = name.toUpperCase();
  return upper.startsWith("CAP_") ? upper : `CAP_${upper}`;
}
