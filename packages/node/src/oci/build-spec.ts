import type { Container, Pod } from "@agent-sandbox/api";
import { capabilitiesFor } from "./capabilities.ts";
import { type Environment, expand, hostnameOf } from "./environment.ts";
import { sandboxOomScore } from "./oom-score.ts";
import { type SeccompMachine, seccompProfile } from "./seccomp.ts";
import type { OciMount, OciNamespace, OciProcess, OciResources, OciSpec } from "./spec.ts";

/** The configuration of an image. */
export interface ImageConfig {
  /** Replaced, together with `command`, by the container's `command`. */
  readonly entrypoint?: readonly string[];
  /** Replaced by the container's `args`. */
  readonly command: readonly string[];
  readonly environment: Environment;
  readonly workingDir: string;
  /** `user[:group]`, each a name or an id. Default root. */
  readonly user?: string;
  /** Default SIGTERM. */
  readonly stopSignal?: string;
  /** Read-only folders of the machine that belong to the image. */
  readonly mounts: readonly OciMount[];
}

export interface BundleInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly image: ImageConfig;
  readonly environment: Environment;
  readonly user: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] };
  readonly rootfs: string;
  readonly namespaces: readonly OciNamespace[];
  readonly cgroupsPath: string;
  /** The folder with this Pod's `hosts`, `hostname` and `resolv.conf`. */
  readonly etc: string;
  /** The container's volumes and other mounts. */
  readonly mounts: readonly OciMount[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly machine: SeccompMachine & {
    /** The capabilities that a container can have on this machine. */
    readonly capabilities: readonly string[];
  };
  readonly resources: OciResources;
  /** The highest id of a Pod with a user namespace. Default: the kernel's. */
  readonly highestId?: number;
}

/** Builds the OCI specification of a container without any I/O. The Pod must have passed `unsupportedField`. */
export function buildSpec(input: BundleInput): OciSpec {
  const { pod, container } = input;
  const isPrivileged = container.securityContext?.privileged === true;
  return {
    ociVersion: "1.0.2",
    process: processFor(input),
    root: { path: input.rootfs, readonly: container.securityContext?.readOnlyRootFilesystem ?? false },
    hostname: hostnameOf(pod),
    mounts: [...systemMounts(isPrivileged), ...input.image.mounts, ...etcMounts(input.etc), ...input.mounts],
    annotations: {
      "io.kubernetes.pod.namespace": pod.metadata?.namespace ?? "",
      "io.kubernetes.pod.name": pod.metadata?.name ?? "",
      "io.kubernetes.pod.uid": pod.metadata?.uid ?? "",
      "io.kubernetes.container.name": container.name,
      ...input.annotations,
    },
    linux: {
      namespaces: input.namespaces,
      cgroupsPath: input.cgroupsPath,
      resources: { ...input.resources, devices: [{ allow: isPrivileged, access: "rwm" }] },
      sysctl: sysctlsFor(pod, input.highestId),
      ...(!isUnconfined(pod, container) && { seccomp: seccompProfile(input.machine) }),
      maskedPaths: isPrivileged ? [] : maskedPaths,
      readonlyPaths: isPrivileged ? [] : readonlyPaths,
      rootfsPropagation: "private",
    },
  };
}

/** Allows low ports and ping without capabilities: they are harmless in a Pod's own network namespace. */
function sysctlsFor(pod: Pod, highestId = 2_147_483_647): Record<string, string> {
  const wanted = (pod.spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value] as const);
  const settings: Record<string, string> = {
    "net.ipv4.ip_unprivileged_port_start": "0",
    [groupsThatPing]: `0 ${highestId}`,
    ...Object.fromEntries(wanted),
  };
  // The kernel refuses groups that the user namespace does not map.
  const groups = settings[groupsThatPing]?.replaceAll(/\d+/g, (id) => String(Math.min(Number(id), highestId)));
  return { ...settings, [groupsThatPing]: groups ?? "" };
}

const groupsThatPing = "net.ipv4.ping_group_range";

function isUnconfined(pod: Pod, { securityContext }: Container): boolean {
  const profile = securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  return securityContext?.privileged === true || profile?.type === "Unconfined";
}

function processFor({ container, image, environment, user, machine }: BundleInput): OciProcess {
  const { securityContext } = container;
  const isPrivileged = securityContext?.privileged === true;
  const capabilities = isPrivileged ? machine.capabilities : capabilitiesFor(securityContext?.capabilities);
  const terminal = container.tty === true;
  return {
    terminal,
    user: { uid: user.uid, gid: user.gid, umask: 0o022, additionalGids: user.groups },
    args: commandFor(container, image).map((word) => expand(word, environment)),
    // Like other container engines, set TERM for containers with a terminal.
    env: [...(terminal ? new Map([["TERM", "xterm"], ...environment]) : environment)].map(
      ([name, value]) => `${name}=${value}`,
    ),
    cwd: container.workingDir || image.workingDir,
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    noNewPrivileges: !isPrivileged && securityContext?.allowPrivilegeEscalation !== true,
    oomScoreAdj: sandboxOomScore,
  };
}

/** `command` replaces the image's entrypoint and command; `args` alone replaces only the command. */
function commandFor(container: Container, image: ImageConfig): readonly string[] {
  if (container.command?.length) return [...container.command, ...(container.args ?? [])];
  return [...(image.entrypoint ?? []), ...(container.args?.length ? container.args : image.command)];
}

function systemMounts(isPrivileged: boolean): OciMount[] {
  const access = isPrivileged ? "rw" : "ro";
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
    { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", access] },
    {
      destination: "/sys/fs/cgroup",
      type: "cgroup",
      source: "cgroup",
      options: ["nosuid", "noexec", "nodev", "relatime", access],
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

/** Kernel interfaces that reveal information about the machine or affect it. */
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
