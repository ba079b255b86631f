import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { arch, release } from "node:os";
import { join } from "node:path";
import type { Image } from "../image/image-store.ts";
import { mountNewRootfs, mountRootfs, type WritableLayer } from "../image/rootfs.ts";
import {
  type ContainerPaths,
  containerId,
  containerPaths,
  logPath,
  mappedRootfs,
  messagePath,
  type PodPaths,
  podPaths,
} from "../layout.ts";
import { type BundleInput, buildSpec } from "../oci/build-spec.ts";
import type { OciSpec } from "../oci/spec.ts";
import { createMonitored, endMonitor } from "../runtime/monitor.ts";
import { type ContainerRole, type OciRuntime, roleAnnotations } from "../runtime/oci-runtime.ts";
import { enterCgroupLater } from "../system/enter-cgroup.ts";
import { asFileUser } from "../system/file-user.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import { processStart } from "../system/processes.ts";
import { removeTree } from "../system/remove-tree.ts";
import { settleAll } from "../system/settle-all.ts";
import { commonIds, machineId } from "../users/id-range.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import { firstContainer } from "./first-container.ts";
import { type Machine, runtimeNamed } from "./machine.ts";
import { holderName } from "./members.ts";
import { placeMounts } from "./place-mounts.ts";
import type { ContainerRecord, PodRecord, ProcessMark, Run } from "./record.ts";

/** The checkpoint that a container is restored from. */
export interface Restoration {
  readonly folder: string;
  /** Resolves when the checkpoint may be used: it is intact, and no other Pod uses it. */
  readonly ready: Promise<unknown>;
  /** An earlier process may have begun to restore the container. */
  readonly again: boolean;
}

export interface Creation {
  readonly machine: Machine;
  readonly record: PodRecord;
  readonly name: string;
  readonly kept: ContainerRecord;
  /** An earlier process began this attempt. */
  readonly again: boolean;
  readonly role: ContainerRole;
  readonly image: Image;
  /** Restores the container instead of starting its command. */
  readonly restoration?: Restoration | undefined;
  /** The overlay's writable layer. Default: a layer that is deleted with the Pod. */
  readonly layer?: WritableLayer;
  /** Creates the Pod's network if it does not exist. */
  readonly network: () => Promise<void>;
  /** The container's own part of the bundle. Called after the root filesystem is mounted. */
  readonly content: (paths: ContainerPaths, users: OpenUsers | undefined) => Promise<BundleContent>;
}

export type BundleContent = Omit<BundleInput, "rootfs" | "cgroupsPath" | "etc" | "annotations" | "machine" | "image">;

/**
 * Creates one run of a container and starts it if the runtime creates and starts in one step. The record is written before
 * and after, so that a run which a crash interrupted is created again.
 */
export async function createContainer(creation: Creation): Promise<Run> {
  const { machine, record, name, kept, again } = creation;
  const { layout } = machine;
  const paths = pathsOf(machine, record, name);
  const id = containerId(record.uid, name, kept.attempt);
  const runtime = runtimeNamed(machine, kept.runtime);
  if (again) {
    // The default runtime may have been a different one when the attempt began.
    for (const one of machine.runtimes.values()) await one.remove(id);
    await endMonitor(layout.exitsDir, id);
  }
  await writeContainer(machine, record, name, kept);
  const writing = writeBundle(creation, paths, runtime);
  await settleAll([creation.network(), writing, creation.restoration?.ready ?? Promise.resolve()]);
  const log = logPath(paths, kept.attempt);
  const { role } = creation;
  const restoreFrom = creation.restoration?.folder;
  const owner = record.ids && machineId(record.ids, (await writing).process.user.uid);
  const { exitsDir } = layout;
  const before = machine.now();
  const pid = await createMonitored({ runtime, id, role, paths, log, exitsDir, io: kept.io, owner, restoreFrom });
  const run = { ...(await runOf(creation, pid)), createMs: machine.now() - before };
  await writeContainer(machine, record, name, withRun(kept, run));
  return run;
}

/** The run of a container whose monitor has reported the pid of its first process. */
export async function runOf(
  creation: Pick<Creation, "machine" | "record" | "name" | "kept" | "role">,
  pid: number,
): Promise<Run> {
  const { machine, record, name, kept, role } = creation;
  const runtime = runtimeNamed(machine, kept.runtime);
  const monitorPid = Number(readFileSync(pathsOf(machine, record, name).monitorPidFile, "utf8"));
  // When containers share a sandbox, `pid` is a process of the runtime outside the sandbox.
  const helpers = role === "member" && runtime.sharesSandbox ? [monitorPid, pid] : [monitorPid];
  for (const one of helpers) enterCgroupLater(machine.cgroups, machine.layout.helperCgroup, one);
  const [process, monitor] = await Promise.all([markOf(pid), markOf(monitorPid)]);
  return { process, monitor, startedAt: machine.now(), started: runtime.startsAtOnce };
}

/** Starts a created container, unless creating it also started it. */
export async function startCreated(
  { machine, record, name, kept }: Pick<Creation, "machine" | "record" | "name" | "kept">,
  run: Run,
): Promise<void> {
  if (run.started) return;
  await runtimeNamed(machine, kept.runtime).start(containerId(record.uid, name, kept.attempt));
  await writeContainer(machine, record, name, withRun(kept, { ...run, startedAt: machine.now(), started: true }));
}

/** Adds the run to the record. A recorded failure is dropped once the container has started. */
export function withRun({ failure, ...kept }: ContainerRecord, run: Run): ContainerRecord {
  return { ...kept, ...(failure !== undefined && !run.started && { failure }), run };
}

async function writeBundle(creation: Creation, paths: ContainerPaths, runtime: OciRuntime): Promise<OciSpec> {
  const { machine, image, record, name, kept, layer = paths, restoration } = creation;
  const { uid, ids } = record;
  const isNew = record.containers[name] === undefined || restoration?.again === false;
  if (!isNew) await clearBundle(paths, kept.attempt);
  await using users = ids && (await machine.users.open(uid, ids));
  for (const folder of [paths.bundle, paths.logs, paths.messages]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (users !== undefined) await copyEtc(podPaths(machine.layout, uid));
  await (isNew ? mountNewRootfs : mountRootfs)(image, { layout: machine.layout, rootfs: paths.rootfs, layer, users });
  const wanted = specFor(creation, paths, await creation.content(paths, users));
  // Mount points that are created belong to the Pod's root user.
  const spec = users === undefined ? placeMounts(wanted) : asFileUser(users.root, () => placeMounts(wanted));
  writeFileSync(join(paths.bundle, "config.json"), JSON.stringify(runtime.adaptSpec(spec)));
  return spec;
}

/** Replaces each file atomically: a crash leaves no partial file, and running containers keep the file they have mounted. */
async function copyEtc({ etc, files }: PodPaths): Promise<void> {
  const target = join(files, "etc");
  await mkdir(target, { recursive: true });
  const copy = async (name: string): Promise<void> => {
    await copyFile(join(etc, name), join(target, `.${name}`));
    await rename(join(target, `.${name}`), join(target, name));
  };
  await Promise.all((await readdir(etc)).map(copy));
}

/** Removes the bundle of the previous run, with the files that conmon wrote there. */
async function clearBundle(paths: ContainerPaths, attempt: number): Promise<void> {
  await unmount(await mountsUnder(paths.subPaths));
  // Node's `rm` would delete the content of a volume that is still mounted here.
  if (existsSync(paths.subPaths)) await removeTree(paths.subPaths);
  await rm(paths.bundle, { recursive: true, force: true });
  // The log and message of the previous run stay for `kubectl logs --previous`.
  await rm(logPath(paths, attempt - 2), { force: true });
  await rm(messagePath(paths, attempt - 2), { force: true });
}

/** The container's paths. A Pod with a user namespace has its root filesystems and messages elsewhere. */
export function pathsOf({ layout }: Machine, { uid, ids }: PodRecord, name: string): ContainerPaths {
  const paths = containerPaths(layout, uid, name);
  if (ids === undefined) return paths;
  const messages = join(podPaths(layout, uid).files, "messages", name);
  return { ...paths, messages, rootfs: mappedRootfs(layout, uid, name) };
}

function specFor({ machine, record, name, role, image }: Creation, { rootfs }: ContainerPaths, content: BundleContent) {
  const { cgroup, etc, files, users } = podPaths(machine.layout, record.uid);
  const own = record.ids === undefined ? [] : [{ type: "user", path: users }];
  return buildSpec({
    ...content,
    namespaces: [...own, ...content.namespaces],
    ...(record.ids !== undefined && { highestId: commonIds - 1 }),
    image: image.config,
    rootfs,
    etc: record.ids === undefined ? etc : join(files, "etc"),
    cgroupsPath: `${cgroup}/${name}`,
    annotations: roleAnnotations(role, sandboxId(record, role), name),
    machine: { arch: arch(), kernel: release(), capabilities: machine.capabilities },
  });
}

/** The container whose id identifies the sandbox: the holder, or the only container of a Pod that has no holder. */
function sandboxId(record: PodRecord, role: ContainerRole): string {
  const name = role === "sandbox" ? holderName : firstContainer(record);
  return containerId(record.uid, name, record.containers[name]?.attempt ?? 0);
}

export async function writeContainer(
  machine: Machine,
  record: PodRecord,
  name: string,
  kept: ContainerRecord,
): Promise<void> {
  await machine.records.write({ ...record, containers: { ...record.containers, [name]: kept } });
}

/** The record of a new attempt, with the history of the earlier ones. */
export function nextAttempt(
  before: ContainerRecord | undefined,
  attempt: number,
  fixed: Pick<ContainerRecord, "runtime" | "reference" | "image" | "stopSignal" | "io">,
): ContainerRecord {
  const { ended, last, backoff, failure } = before ?? {};
  const previous = ended ?? last;
  return {
    attempt,
    ...fixed,
    ...(previous !== undefined && { last: previous }),
    ...(backoff !== undefined && { backoff }),
    ...(failure !== undefined && { failure }),
  };
}

/** A process that has already ended gets the start time -1, which no process has. */
async function markOf(pid: number): Promise<ProcessMark> {
  return { pid, start: (await processStart(pid)) ?? -1 };
}
