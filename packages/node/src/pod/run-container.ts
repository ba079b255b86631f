import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { arch, release } from "node:os";
import { join } from "node:path";
import type { Container, Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { Image } from "../image/image-store.ts";
import { mountRootfs } from "../image/rootfs.ts";
import { containerId, containerPaths, logPath, podPaths } from "../layout.ts";
import { buildSpec } from "../oci/build-spec.ts";
import type { OciSpec } from "../oci/spec.ts";
import { createMonitored, endMonitor } from "../runtime/monitor.ts";
import { processStart } from "../system/processes.ts";
import { type Machine, runtimeNamed } from "./machine.ts";
import type { ContainerRecord, PodRecord, ProcessMark, Run } from "./record.ts";

/** Creates and starts one run of a container. An attempt that was interrupted is taken up where it stands. */
export async function startContainer(
  machine: Machine,
  pod: Pod,
  record: PodRecord,
  { name, attempt }: { readonly name: string; readonly attempt: number },
): Promise<void> {
  const container = pod.spec?.containers.find((one) => one.name === name);
  if (container === undefined) {
    throw new NodeError("CreateContainerError", `Cannot start container "${name}": the Pod has none of that name`);
  }
  const { netns } = podPaths(machine.layout, record.uid);
  // After a reboot the files are there and the network is not.
  if (!machine.network.isAttached(netns, record.address)) await machine.network.attach(netns, record.address);
  const before = record.containers[name];
  const kept = before?.attempt === attempt ? before : nextAttempt(machine, pod, before, attempt);
  const run = kept.run ?? (await create(machine, { pod, container, record, kept, again: before === kept }));
  await runtimeNamed(machine, kept.runtime).start(containerId(record.uid, name, attempt));
  await write(machine, record, name, { ...kept, run: { ...run, started: true } });
}

/** Sends a signal to the first process of a container; the wish to stop is on disk before the first one. */
export async function signalContainer(
  machine: Machine,
  record: PodRecord,
  name: string,
  signal: "SIGTERM" | "SIGKILL",
): Promise<void> {
  const kept = record.containers[name];
  if (kept === undefined) return;
  if (record.stoppingSince === undefined) await machine.records.write({ ...record, stoppingSince: machine.now() });
  await runtimeNamed(machine, kept.runtime).kill(containerId(record.uid, name, kept.attempt), signal);
}

/** Writes down how a run ended, then lets the runtime forget it. */
export async function recordExit(
  machine: Machine,
  record: PodRecord,
  name: string,
  ended: ContainerRecord,
): Promise<void> {
  await write(machine, record, name, ended);
  const id = containerId(record.uid, name, ended.attempt);
  await runtimeNamed(machine, ended.runtime).remove(id);
  await rm(join(machine.layout.exitsDir, id), { force: true });
}

interface Creation {
  readonly pod: Pod;
  readonly container: Container;
  readonly record: PodRecord;
  readonly kept: ContainerRecord;
  /** This attempt was begun before. */
  readonly again: boolean;
}

async function create(machine: Machine, { pod, container, record, kept, again }: Creation): Promise<Run> {
  const { layout, images, now } = machine;
  const paths = containerPaths(layout, record.uid, container.name);
  const id = containerId(record.uid, container.name, kept.attempt);
  const runtime = runtimeNamed(machine, kept.runtime);
  const image = await images.resolve(container.image ?? "");
  if (again) {
    await runtime.remove(id);
    await endMonitor(layout.exitsDir, id);
  } else await write(machine, record, container.name, kept);
  // With it go the marks of the run before.
  await rm(paths.bundle, { recursive: true, force: true });
  await mkdir(paths.bundle, { recursive: true, mode: 0o700 });
  await mkdir(paths.logs, { recursive: true, mode: 0o700 });
  // The log of the run before stays for those who want to know why it ended.
  await rm(logPath(paths, kept.attempt - 2), { force: true });
  await mountRootfs(image, paths);
  await writeFile(
    join(paths.bundle, "config.json"),
    JSON.stringify(runtime.adaptSpec(specFor(machine, { pod, container, record, image }))),
  );
  const pid = await createMonitored({
    runtime,
    id,
    paths,
    log: logPath(paths, kept.attempt),
    exitsDir: layout.exitsDir,
  });
  const monitorPid = Number(await readFile(paths.monitorPidFile, "utf8"));
  const run: Run = { process: await markOf(pid), monitor: await markOf(monitorPid), startedAt: now(), started: false };
  await write(machine, record, container.name, { ...kept, run });
  return run;
}

function specFor(
  machine: Machine,
  creation: { pod: Pod; container: Container; record: PodRecord; image: Image },
): OciSpec {
  const { pod, container, record, image } = creation;
  const paths = podPaths(machine.layout, record.uid);
  return buildSpec({
    pod,
    container,
    address: record.address,
    image: image.config,
    rootfs: containerPaths(machine.layout, record.uid, container.name).rootfs,
    netnsPath: paths.netnsPath,
    cgroupsPath: `${paths.cgroup}/${container.name}`,
    etc: paths.etc,
    volumes: Object.fromEntries((pod.spec?.volumes ?? []).map(({ name }) => [name, join(paths.volumes, name)])),
    machine: { arch: arch(), kernel: release(), swapAccounting: machine.cgroups.swapAccounting },
    defaults: machine.defaults,
  });
}

function nextAttempt(
  machine: Machine,
  pod: Pod,
  before: ContainerRecord | undefined,
  attempt: number,
): ContainerRecord {
  const runtime = pod.spec?.runtimeClassName ?? machine.defaultRuntime;
  const { ended, backoff } = before ?? {};
  return { attempt, runtime, ...(ended !== undefined && { last: ended }), ...(backoff !== undefined && { backoff }) };
}

async function write(machine: Machine, record: PodRecord, name: string, kept: ContainerRecord): Promise<void> {
  await machine.records.write({ ...record, containers: { ...record.containers, [name]: kept } });
}

/** A process that ended at once is marked by a time no other process has. */
async function markOf(pid: number): Promise<ProcessMark> {
  return { pid, start: (await processStart(pid)) ?? -1 };
}
