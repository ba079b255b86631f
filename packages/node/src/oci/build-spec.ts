import type { Container, Pod } from "@agent-sandbox/api";
import { capabilitiesFor } from "./capabilities.ts";
import { type Environment, environmentFor, expand, hostnameOf } from "./environment.ts";
import { type ResourceDefaults, resourcesFor } from "./resources.ts";
import { type SeccompMachine, seccompProfile } from "./seccomp.ts";
import type { OciMount, OciProcess, OciSpec } from "./spec.ts";

/** What an image brings to its containers. */
export interface ImageConfig {
  /** What `command` of a container replaces, together with the command. */
  readonly entrypoint?: readonly string[];
  /** What `args` of a container replace. */
  readonly command: readonly string[];
  readonly environment: Environment;
  readonly workingDir: string;
  /** Whom its commands run as: a name or an id, and after a colon a group. Root when absent. */
  readonly user?: string;
  /** What asks its first process to end. SIGTERM when absent. */
  readonly stopSignal?: string;
  /** Read-only folders of the machine that belong to the image, and what of them must not be seen. */
  readonly mounts: readonly OciMount[];
  readonly hiddenPaths: readonly string[];
}

export interface BundleInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly address: string;
  readonly image: ImageConfig;
  readonly rootfs: string;
  readonly netnsPath: string;
  readonly cgroupsPath: string;
  /** The folder with this Pod's `hosts`, `hostname` and `resolv.conf`. */
  readonly etc: string;
  /** Where each of the Pod's volumes lies on the machine. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly machine: SeccompMachine & { readonly swapAccounting: boolean };
  readonly defaults: ResourceDefaults;
}

/** Pod in, bundle out: does no I/O. The Pod must have passed `unsupportedField`. */
export function buildSpec(input: BundleInput): OciSpec {
  const { pod, container } = input;
  return {
    ociVersion: "1.0.2",
    process: processFor(input),
    root: { path: input.rootfs, readonly: container.securityContext?.readOnlyRootFilesystem ?? false },
    hostname: hostnameOf(pod),
    mounts: [...systemMounts(), ...input.image.mounts, ...etcMounts(input.etc), ...volumeMounts(input)],
    annotations: {
      "io.kubernetes.pod.namespace": pod.metadata?.namespace ?? "",
      "io.kubernetes.pod.name": pod.metadata?.name ?? "",
      "io.kubernetes.pod.uid": pod.metadata?.uid ?? "",
      "io.kubernetes.container.name": container.name,
    },
    linux: {
      namespaces: [
        { type: "network", path: input.netnsPath },
        ...["mount", "pid", "ipc", "uts", "cgroup"].map((type) => ({ type })),
      ],
      cgroupsPath: input.cgroupsPath,
      resources: resourcesFor(container, input.defaults, input.machine.swapAccounting),
      // Low ports and ping are harmless in a network namespace of one's own, and need no capability this way.
      sysctl: { "net.ipv4.ip_unprivileged_port_start": "0", "net.ipv4.ping_group_range": "0 2147483647" },
      seccomp: seccompProfile(input.machine),
      maskedPaths: [...maskedPaths, ...input.image.hiddenPaths],
      readonlyPaths,
      rootfsPropagation: "private",
    },
  };
}

function processFor(input: BundleInput): OciProcess {
  const { pod, container, image } = input;
  const environment = environmentFor(pod, container, input.address, image.environment);
  const capabilities = capabilitiesFor(container.securityContext?.capabilities);
  return {
    terminal: false,
    user: userFor(pod, container),
    args: commandFor(container, image).map((word) => expand(word, environment)),
    env: [...environment].map(([name, value]) => `${name}=${value}`),
    cwd: container.workingDir ?? image.workingDir,
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    noNewPrivileges: container.securityContext?.allowPrivilegeEscalation !== true,
  };
}

/** `command` replaces all that the image has to say; `args` only what follows its entrypoint. */
function commandFor(container: Container, image: ImageConfig): readonly string[] {
  if (container.command?.length) return [...container.command, ...(container.args ?? [])];
  return [...(image.entrypoint ?? []), ...(container.args?.length ? container.args : image.command)];
}

function userFor(pod: Pod, container: Container): OciProcess["user"] {
  const own = container.securityContext;
  const shared = pod.spec?.securityContext;
  return {
    uid: own?.runAsUser ?? shared?.runAsUser ?? 0,
    gid: own?.runAsGroup ?? shared?.runAsGroup ?? 0,
    umask: 0o022,
    additionalGids: shared?.supplementalGroups ?? [],
  };
}

function systemMounts(): OciMount[] {
  return [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "noexec", "strictatime", "mode=755", "size=65536k"],
    },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    },
    {
      destination: "/dev/shm",
      type: "tmpfs",
      source: "shm",
      options: ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
    },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
    { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
    {
      destination: "/sys/fs/cgroup",
      type: "cgroup",
      source: "cgroup",
      options: ["nosuid", "noexec", "nodev", "relatime", "ro"],
    },
    { destination: "/run", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=755", "size=65536k"] },
  ];
}

function etcMounts(etc: string): OciMount[] {
  return ["hosts", "hostname", "resolv.conf"].map((name) => ({
    destination: `/etc/${name}`,
    type: "bind",
    source: `${etc}/${name}`,
    options: ["bind", "ro", "nosuid", "nodev", "noexec"],
  }));
}

function volumeMounts({ container, volumes }: BundleInput): OciMount[] {
  return (container.volumeMounts ?? []).flatMap(({ name, mountPath, readOnly }) => {
    const source = volumes[name];
    if (source === undefined) return [];
    return [
      { destination: mountPath, type: "bind", source, options: ["bind", readOnly ? "ro" : "rw", "nosuid", "nodev"] },
    ];
  });
}

/** Kernel interfaces that tell about the machine or reach beyond the sandbox. */
const maskedPaths: readonly string[] = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/kpagecount",
  "/proc/kpageflags",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
  "/sys/kernel/debug",
  "/sys/kernel/tracing",
];

const readonlyPaths: readonly string[] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
