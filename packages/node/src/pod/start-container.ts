import { chmodSync, writeFileSync } from "node:fs";
import { type Container, type Pod, runtimeTokenVolume } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import type { Image } from "../image/image-store.ts";
import { imageFor, writableLayer } from "../image/rootfs.ts";
import { type ContainerPaths, containerPaths, messagePath, podPaths } from "../layout.ts";
import { environmentFor } from "../oci/environment.ts";
import { resourcesFor } from "../oci/resources.ts";
import type { OciMount } from "../oci/spec.ts";
import type { ContainerRole, OciRuntime } from "../runtime/oci-runtime.ts";
import { identityMounts } from "../state/identity.ts";
import { mountsUnder, unmount } from "../system/mounts.ts";
import type { OpenUsers } from "../users/pod-users.ts";
import { apiAccessVolume, hasApiAccess, withApiAccess } from "../volume/api-access.ts";
import { ownRuntimeToken } from "../volume/runtime-token.ts";
import { volumeMounts } from "../volume/volume-mounts.ts";
import { keptForOf } from "./controlling-sandbox.ts";
import {
  type BundleContent,
  createContainer,
  nextAttempt,
  pathsOf,
  type Restoration,
  startCreated,
} from "./create-container.ts";
import { withoutTracing } from "./debug-rights.ts";
import type { Effects } from "./effects.ts";
import { type Machine, runtimeNamed } from "./machine.ts";
import { type Member, memberNamed, needsHolder } from "./members.ts";
import { namespacesFor } from "./namespaces.ts";
import { pullTask } from "./plan-containers.ts";
import { runtimeOf } from "./pod-runtime.ts";
import { pulledImage } from "./pull-image.ts";
import type { ContainerIo, PodRecord } from "./record.ts";
import { hasOwnKernel, unsupportedEphemeral } from "./supported.ts";
import { readAccounts, userOf } from "./user.ts";

/**
 * Creates and starts one run of a container, or restores it from a checkpoint. Continues an attempt that was interrupted.
 */
export async function startContainer(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  {
    name,
    attempt,
    restoration,
  }: { readonly name: string; readonly attempt: number; readonly restoration?: Restoration },
): Promise<void> {
  const { machine, rules, tasks } = effects;
  const runtime = runtimeOf(pod, record, rules.defaultRuntime);
  const member = startable(effects, pod, { name, runtime });
  const keptFor = record.keptFor ?? (await keptForOf(effects, pod));
  const before = record.containers[name];
  const isSame = before?.attempt === attempt && before.ended === undefined;
  const found = pulledImage(effects, record.uid, pullTask(name)) ?? (isSame ? before.image : undefined);
  const image = await imageFor(machine, { keptFor, found }, member.container);
  const { stopSignal } = { ...image.config, ...member.container.lifecycle };
  const reference = member.container.image ?? "";
  const io = ioOf(member.container);
  const fixed = {
    runtime,
    reference,
    image: image.id,
    ...(stopSignal !== undefined && { stopSignal }),
    ...(io !== undefined && { io }),
  };
  // A writable layer belongs to one image. Drop it before the record names the new image, so that a crash in between repeats it.
  if (before?.image !== undefined && before.image !== image.id) await dropRoot(machine, record, name);
  const isBegun = isSame && before.image === image.id && (before.run !== undefined || before.runtime === runtime);
  const kept = isBegun ? before : nextAttempt(before, attempt, fixed);
  const again = restoration?.again ?? isSame;
  const run = kept.run ?? (await create(effects, { pod, record, member, kept, again, image, keptFor, restoration }));
  await startCreated({ machine, record, name, kept }, run);
  tasks.forget(record.uid, pullTask(name));
  effects.recordEvent(pod, { reason: "Started", text: `Started container ${name}`, container: name });
}

/** The container with the capabilities it may have here. Throws if it may not run. */
function startable(
  { rules, recordEvent }: Effects,
  pod: Pod,
  { name, runtime }: { readonly name: string; readonly runtime: string },
): Member {
  const found = memberNamed(pod, name);
  const problem = found?.role === "ephemeral" ? unsupportedEphemeral(pod, name, rules) : undefined;
  if (found === undefined || problem !== undefined) {
    const why = problem ?? `Cannot start container "${name}": the Pod has no container of that name`;
    throw new NodeError("CreateContainerConfigError", why);
  }
  if (rules.allow.privileged || hasOwnKernel(runtime, rules)) return found;
  const { member, left } = withoutTracing(found);
  if (left.length > 0) {
    const text = `Container ${name} runs without ${left.join(", ")}: this Pod shares the machine's kernel`;
    recordEvent(pod, { type: "Warning", reason: "CapabilityLeftOut", text, container: name });
  }
  return member;
}

function ioOf({ stdin = false, stdinOnce = false, tty = false }: Container): ContainerIo | undefined {
  return stdin || tty ? { stdin, stdinOnce, tty } : undefined;
}

async function dropRoot(machine: Machine, record: PodRecord, name: string): Promise<void> {
  const { rootfs, upper, work } = pathsOf(machine, record, name);
  await unmount(await mountsUnder(rootfs));
  for (const folder of [upper, work]) await machine.trash.discard(folder);
}

/**
 * Attaches the Pod's network before a container is created, if it is missing: after a reboot, or because a sandbox with its own
 * network stack has taken the address from the interface and a new sandbox needs it there.
 */
export async function attachNetwork(
  machine: Machine,
  record: PodRecord,
  { runtime, role, again }: { readonly runtime: string; readonly role: ContainerRole; readonly again: boolean },
): Promise<void> {
  const { address, containers } = record;
  const { netns } = podPaths(machine.layout, record.uid);
  const hasRun = Object.values(containers).some(({ run, ended, last }) => run ?? ended ?? last);
  // A run that a crash interrupted may have taken it too.
  const isTaken = (hasRun || again) && role !== "member" && runtimeNamed(machine, runtime).sharesSandbox;
  if (isTaken || !machine.network.isAttached(netns, address)) await attachPod(machine, record);
}

/** The network namespace of a Pod with a user namespace is owned by that user namespace. */
export function attachPod({ layout, network, users }: Machine, record: PodRecord): Promise<void> {
  const { uid, address, ids, restore } = record;
  const { netns } = podPaths(layout, uid);
  const isDown = restore !== undefined && restore.step !== "running";
  return network.attach(netns, address, { isDown, ...(ids && { make: () => users.prepare(uid, ids) }) });
}

export function roleIn(pod: Pod, { role }: Member, { sharesSandbox }: OciRuntime): ContainerRole {
  // An ephemeral container joins the sandbox of a single container: a second sandbox would take its network away.
  return needsHolder(pod) || (role === "ephemeral" && sharesSandbox) ? "member" : "alone";
}

/** In a shared sandbox, a container without a PID namespace in its spec joins that of the first container. */
function joinsFirst(pod: Pod, { role }: Member, { sharesSandbox }: OciRuntime): boolean {
  return role === "ephemeral" && sharesSandbox && !needsHolder(pod);
}

interface Start {
  readonly pod: Pod;
  readonly record: PodRecord;
  readonly member: Member;
  readonly kept: Parameters<typeof createContainer>[0]["kept"];
  readonly again: boolean;
  readonly image: Image;
  readonly keptFor: string;
  readonly restoration?: Restoration | undefined;
}

async function create(effects: Effects, start: Start) {
  const { pod, record, member, kept, again, image, keptFor, restoration } = start;
  const { machine } = effects;
  const { name } = member.container;
  const own = containerPaths(machine.layout, record.uid, name);
  // The Sandbox starts without its saved memory, which is out of date from now on.
  if (keptFor !== "" && restoration === undefined && record.restore === undefined)
    await machine.suspensions.retire(keptFor, machine.now());
  const layer = await writableLayer(machine, { keptFor, holder: record.uid }, member.container, { image, own });
  const role = roleIn(pod, member, runtimeNamed(machine, kept.runtime));
  const run = await createContainer({
    machine,
    record,
    name,
    kept,
    again,
    image,
    layer,
    role,
    restoration,
    network: () => attachNetwork(machine, record, { runtime: kept.runtime, role, again }),
    content: (paths, users) => contentOf(effects, { pod, record, member, kept, image }, { paths, users }),
  });
  effects.recordEvent(pod, { reason: "Created", text: `Created container: ${name}`, container: name });
  return run;
}

async function contentOf(
  { machine, hostAddress, sources }: Effects,
  { pod, record, member, kept, image }: Omit<Start, "again" | "keptFor">,
  { paths, users }: { readonly paths: ContainerPaths; readonly users: OpenUsers | undefined },
): Promise<BundleContent> {
  const { container } = member;
  const { volumes = {} } = record;
  const facts = { address: record.address, hostAddress, node: machine.capacity };
  const environment = environmentFor({
    pod,
    container,
    image: image.config.environment,
    facts,
    sources: sources.snapshot(pod),
    hasApiAccess: hasApiAccess(pod, machine),
  });
  const mounted = volumes[apiAccessVolume] === undefined ? container : withApiAccess(container);
  const user = userOf(pod, container, image.config.user, await readAccounts(paths.rootfs));
  await ownRuntimeToken(pod, container, volumes[runtimeTokenVolume]?.path, user.uid);
  const { netnsPath } = podPaths(machine.layout, record.uid);
  const namespaces = await namespacesFor(pod, record, member, netnsPath);
  return {
    pod,
    container,
    environment,
    user,
    namespaces: joinsFirst(pod, member, runtimeNamed(machine, kept.runtime))
      ? namespaces.filter(({ type, path }) => type !== "pid" || path === undefined)
      : namespaces,
    resources: resourcesFor(container, machine.defaults, machine.bounds),
    mounts: [
      ...(await volumeMounts({ container: mounted, volumes, environment, subPaths: paths.subPaths, users })),
      messageMount(container.terminationMessagePath, messagePath(paths, kept.attempt)),
      ...identityMounts(machine, pod, record, container),
    ],
  };
}

function messageMount(destination = "/dev/termination-log", source: string): OciMount {
  writeFileSync(source, "");
  // The container may run as any user.
  chmodSync(source, 0o666);
  return { destination, type: "bind", source, options: ["bind", "rw", "nosuid", "nodev", "noexec"] };
}
