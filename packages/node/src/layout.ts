import { createHash } from "node:crypto";
import { join, resolve } from "node:path";

/**
 * The paths and names that a node uses. Everything outside the data folder has the instance id in its name, a hash of the
 * folder's path, so that two nodes on one machine do not conflict and a restarted node finds its own.
 */
export interface Layout {
  readonly id: string;
  readonly dataDir: string;
  /** One folder per Pod, named by its UID. */
  readonly podsDir: string;
  /** Exit files: conmon writes one for each container that ends. */
  readonly exitsDir: string;
  readonly imagesDir: string;
  /** Folders that are removed in the background. */
  readonly trashDir: string;
  readonly networkFile: string;
  /** Saved memory: one folder per image. */
  readonly stateDir: string;
  /** State that must not survive a reboot, such as that of the runtimes. */
  readonly runDir: string;
  readonly cgroupParent: string;
  /** For processes that work for sandboxes on the machine: monitors, runtimes, image pulls. */
  readonly helperCgroup: string;
  readonly bridge: string;
  readonly netnsPrefix: string;
  readonly vethPrefix: string;
  readonly firewallTable: string;
}

/** A name that cannot be a Pod's UID. */
export const helperGroup = "_helpers";

export function layoutOf(dataDir: string): Layout {
  const data = join(resolve(dataDir), "node");
  const id = createHash("sha256").update(data).digest("hex").slice(0, 8);
  return {
    id,
    dataDir: data,
    podsDir: join(data, "pods"),
    exitsDir: join(data, "exits"),
    imagesDir: join(data, "images"),
    trashDir: join(data, "trash"),
    networkFile: join(data, "network.json"),
    stateDir: join(data, "state"),
    runDir: `/run/agent-sandbox-${id}`,
    cgroupParent: `/agent-sandbox-${id}`,
    helperCgroup: `/agent-sandbox-${id}/${helperGroup}`,
    bridge: `asb${id}`,
    netnsPrefix: `asb-${id}-`,
    // An interface name has at most 15 characters. Four are left for the address.
    vethPrefix: `asv${id}`,
    firewallTable: `agent_sandbox_${id}`,
  };
}

/** The paths of one Pod. The UID must have passed `isSafeUid`, because it becomes part of paths and names. */
export interface PodPaths {
  readonly dir: string;
  readonly record: string;
  readonly etc: string;
  /** The files about the sandbox's identity, where containers see them. */
  readonly identity: string;
  readonly volumes: string;
  readonly execs: string;
  readonly netns: string;
  readonly netnsPath: string;
  /** State that must not survive a reboot, of a Pod with a user namespace. The Pod's root user may traverse it. */
  readonly run: string;
  /** Small files for its containers, in memory. Bind mounts of them do not reveal the path of the data folder. */
  readonly files: string;
  /** Where the Pod's user namespace is mounted, if it has one. */
  readonly users: string;
  readonly cgroup: string;
}

export function podPaths(layout: Layout, uid: string): PodPaths {
  const dir = join(layout.podsDir, uid);
  const netns = `${layout.netnsPrefix}${uid}`;
  const run = join(layout.runDir, "pods", uid);
  return {
    dir,
    record: join(dir, "pod.json"),
    etc: join(dir, "etc"),
    identity: join(dir, "identity"),
    volumes: join(dir, "volumes"),
    execs: join(dir, "execs"),
    netns,
    netnsPath: `/run/netns/${netns}`,
    run,
    files: join(run, "files"),
    users: join(run, "users"),
    cgroup: `${layout.cgroupParent}/${uid}`,
  };
}

export interface ContainerPaths {
  readonly dir: string;
  /** The overlay's writable layer. It exists as long as the Pod, so that a restarted container keeps its files. */
  readonly upper: string;
  readonly work: string;
  readonly rootfs: string;
  readonly bundle: string;
  readonly pidFile: string;
  readonly monitorPidFile: string;
  /** One log per run, named by the attempt. */
  readonly logs: string;
  /** One termination message per run, named by the attempt. */
  readonly messages: string;
  /** Mount points for `subPath` mounts. */
  readonly subPaths: string;
}

export function containerPaths(layout: Layout, uid: string, container: string): ContainerPaths {
  const dir = join(podPaths(layout, uid).dir, "containers", container);
  return {
    dir,
    upper: join(dir, "upper"),
    work: join(dir, "work"),
    rootfs: join(dir, "rootfs"),
    bundle: join(dir, "bundle"),
    pidFile: join(dir, "bundle", "pid"),
    monitorPidFile: join(dir, "bundle", "monitor-pid"),
    logs: join(dir, "logs"),
    messages: join(dir, "messages"),
    subPaths: join(dir, "subpaths"),
  };
}

/** The root filesystem of a container in a Pod with a user namespace, where the Pod's root user can reach it. */
export function mappedRootfs(layout: Layout, uid: string, container: string): string {
  return join(podPaths(layout, uid).run, `root-${container}`);
}

/** The log of one run of a container. */
export function logPath(paths: ContainerPaths, attempt: number): string {
  return join(paths.logs, String(attempt));
}

/** The termination message of one run of a container. */
export function messagePath(paths: ContainerPaths, attempt: number): string {
  return join(paths.messages, String(attempt));
}

/**
 * The id of one run of a container. Each restart gets a new id, so that exit files of different runs are not confused. A long name is
 * shortened, with a hash: gVisor's socket has the id in its name, and the path of a socket has at most 107 bytes.
 */
export function containerId(uid: string, container: string, attempt: number): string {
  const isShort = container.length <= longestInId;
  return `${uid}_${isShort ? container : shortened(container)}_${attempt}`;
}

/** Leaves room for `/run/agent-sandbox-<id>/gvisor/runsc-<uid>_`, a number of three digits and `.sock`. */
const longestInId = 20;
const hashDigits = 10;

/** Names of containers contain no dot, so that no other container has the same id. */
function shortened(container: string): string {
  const hash = createHash("sha256").update(container).digest("hex").slice(0, hashDigits);
  return `${container.slice(0, longestInId - hashDigits - 1)}.${hash}`;
}

/** The Pod of a container id. */
export function parseContainerId(id: string): { uid: string; attempt: number } | undefined {
  const parts = /^([0-9A-Za-z-]+)_[0-9a-z.-]+_(\d+)$/.exec(id);
  return parts?.[1] === undefined ? undefined : { uid: parts[1], attempt: Number(parts[2]) };
}

/** Whether a UID can safely be part of paths and of names of cgroups and network namespaces. */
export function isSafeUid(uid: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]{0,63}$/.test(uid);
}
