import { createHash } from "node:crypto";
import { join, resolve } from "node:path";

/**
 * Where a node keeps things and what it calls them. Everything the node makes outside its data folder carries the
 * instance id, which comes from the folder's path: two nodes on one machine never take each other's things for theirs,
 * and a node started again finds its own.
 */
export interface Layout {
  readonly id: string;
  readonly dataDir: string;
  /** One folder per Pod, named by its UID. */
  readonly podsDir: string;
  /** conmon writes one file per ended container here. */
  readonly exitsDir: string;
  readonly imagesDir: string;
  /** Trees that wait for their removal. */
  readonly trashDir: string;
  readonly networkFile: string;
  /** What must not outlive a reboot: the state of the runtimes. */
  readonly runDir: string;
  readonly cgroupParent: string;
  /** For processes outside the sandboxes that work for them: monitors, runtimes, pulls. */
  readonly helperCgroup: string;
  readonly bridge: string;
  readonly netnsPrefix: string;
  readonly vethPrefix: string;
  readonly firewallTable: string;
}

/** No Pod's UID. */
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
    runDir: `/run/agent-sandbox-${id}`,
    cgroupParent: `/agent-sandbox-${id}`,
    helperCgroup: `/agent-sandbox-${id}/${helperGroup}`,
    bridge: `asb${id}`,
    netnsPrefix: `asb-${id}-`,
    // An interface name has at most 15 characters; four are left for the address.
    vethPrefix: `asv${id}`,
    firewallTable: `agent_sandbox_${id}`,
  };
}

/** The paths of one Pod. A UID goes into paths and names: `isSafeUid` must have accepted it. */
export interface PodPaths {
  readonly dir: string;
  readonly record: string;
  readonly etc: string;
  readonly volumes: string;
  readonly execs: string;
  readonly netns: string;
  readonly netnsPath: string;
  /** What must not outlive a reboot. For a Pod with users of its own, whose root may pass it. */
  readonly run: string;
  /** Small files for its containers, in memory: bound from there, they do not tell where the data folder is. */
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
  /** The overlay: its layers live as long as the Pod, so a restarted container finds its files again. */
  readonly upper: string;
  readonly work: string;
  readonly rootfs: string;
  readonly bundle: string;
  readonly pidFile: string;
  readonly monitorPidFile: string;
  /** One file per run, named by its attempt. */
  readonly logs: string;
  /** The last words of each run, likewise. */
  readonly messages: string;
  /** Mount points for what comes out of the midst of a volume. */
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

/** Where the root folder of a container is mounted whose Pod has users of its own: its own root has to get there. */
export function mappedRootfs(layout: Layout, uid: string, container: string): string {
  return join(podPaths(layout, uid).run, `root-${container}`);
}

/** Where conmon writes what one run of a container says. */
export function logPath(paths: ContainerPaths, attempt: number): string {
  return join(paths.logs, String(attempt));
}

/** Where one run of a container may leave its last words. */
export function messagePath(paths: ContainerPaths, attempt: number): string {
  return join(paths.messages, String(attempt));
}

/** One run of a container: restarts get a new id, so that the exit of one run is never taken for another's. */
export function containerId(uid: string, container: string, attempt: number): string {
  return `${uid}_${container}_${attempt}`;
}

export function parseContainerId(id: string): { uid: string; container: string; attempt: number } | undefined {
  const parts = /^([0-9A-Za-z-]+)_([0-9a-z-]+)_(\d+)$/.exec(id);
  if (parts?.[1] === undefined || parts[2] === undefined) return undefined;
  return { uid: parts[1], container: parts[2], attempt: Number(parts[3]) };
}

/** Whether a UID may become part of paths, cgroup and network namespace names. */
export function isSafeUid(uid: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]{0,63}$/.test(uid);
}
