import { mkdir, readFile, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { type Budget, defaultBudget, readMachineSize } from "./budget.ts";
import type { Trials } from "./doctor/examine.ts";
import { NodeError } from "./errors.ts";
import { hostImage } from "./image/host-image.ts";
import { hostImageName, sandboxdImageName } from "./image/image-store.ts";
import { type ImageOptions, type Images, openImages } from "./image/open-images.ts";
import { IsolatedPulls } from "./image/pull-network.ts";
import { sandboxdImage } from "./image/sandboxd-image.ts";
import { type Layout, layoutOf, podPaths } from "./layout.ts";
import type { ApiServerPlace } from "./network/api-access.ts";
import { shareNamespaceFolder } from "./network/namespace-folder.ts";
import { openPodNetwork } from "./network/pod-network.ts";
import { boundingSet } from "./oci/capabilities.ts";
import type { NodeCapacity } from "./oci/downward.ts";
import { type ResourceDefaults, resourceDefaults } from "./oci/resources.ts";
import { type BackoffPolicy, kubeletBackoff } from "./pod/backoff.ts";
import type { Machine } from "./pod/machine.ts";
import type { Allowances, NodeRules } from "./pod/observed.ts";
import { podRecords } from "./pod/record.ts";
import type { RuntimeRegistration } from "./runtime/oci-runtime.ts";
import { openRuntimes, type Runtimes } from "./runtime/open-runtimes.ts";
import { sharedKernel } from "./runtime/shared-kernel.ts";
import { readSettings, runtimeChoices } from "./settings.ts";
import { ImageVault } from "./state/image-vault.ts";
import { defaultStateLimits, type StateLimits } from "./state/limits.ts";
import { PlainMemory } from "./state/plain-memory.ts";
import { SnapshotRoom } from "./state/snapshot-room.ts";
import { SnapshotStore } from "./state/snapshot-store.ts";
import { StateKeys } from "./state/state-keys.ts";
import { Suspensions } from "./state/suspensions.ts";
import { type Cgroups, detectCgroups } from "./system/cgroups.ts";
import { countingFolders, makeCountingCgroup } from "./system/enter-cgroup.ts";
import { FairLimiter } from "./system/fair-limiter.ts";
import { findProgram } from "./system/find-program.ts";
import { limitCgroup } from "./system/limit-cgroup.ts";
import { Trash } from "./system/trash.ts";
import { PodUsers } from "./users/pod-users.ts";
import { canHaveUsers, tryUsers } from "./users/try-users.ts";

export interface MachineOptions {
  /** The node's files are in its subfolder `node`. */
  readonly dataDir: string;
  /** Default: a free subnet, chosen at the first start. */
  readonly subnet?: string | undefined;
  /** In addition to `gvisor` and `runc`, which are found automatically, or in place of them. */
  readonly runtimes?: readonly RuntimeRegistration[];
  /** The runtime of Pods without `runtimeClassName`. Default: gVisor if it works, else runc. */
  readonly defaultRuntime?: string;
  /** Runtimes that are allowed in addition to those of the settings. */
  readonly allowedRuntimes?: readonly string[];
  /** Registry mirrors and the limits of the image store. */
  readonly images?: Pick<ImageOptions, "registries" | "limits">;
  /** The path of sandboxd for the built-in image "sandboxd". Default: the build in `dist`. */
  readonly sandboxd?: string;
  readonly defaults?: Partial<ResourceDefaults>;
  /** The limits of all sandboxes together. */
  readonly budget?: Partial<Budget>;
  readonly allow?: Partial<Allowances>;
  /** The limits of saved memory. */
  readonly state?: Partial<StateLimits>;
  /** Files with keys for saved memory, in addition to those of the settings. The first key encrypts, all of them decrypt. */
  readonly stateKeyFiles?: readonly string[];
  /** The API server, once it listens. Default: none, and Pods cannot use it. */
  readonly apiServer?: () => ApiServerPlace | undefined;
  /** The Pod capacity in the Node object. Default 250. */
  readonly podCapacity?: number;
  /** The delays before containers restart. Default: the kubelet's 10 s to 5 min. */
  readonly backoff?: BackoffPolicy;
  /** The interval between two measurements of disk usage. Default 10 s. */
  readonly diskCheckMs?: number;
  readonly now?: () => number;
}

/** The build of sandboxd in `dist`. The path is the same from `src` and from the compiled files. */
const goArchitecture = process.arch === "arm64" ? "arm64" : "amd64";
const builtSandboxd = fileURLToPath(new URL(`../../../dist/sandboxd-linux-${goArchitecture}`, import.meta.url));

/** Opens the image store of a data folder, for its node or for CLI commands. */
export async function openNodeImages(
  options: Pick<MachineOptions, "dataDir" | "images" | "sandboxd" | "now">,
  forPods: Pick<ImageOptions, "network" | "cgroups" | "reserve"> = {},
): Promise<Images> {
  const layout = layoutOf(options.dataDir);
  const settings = await readSettings(options.dataDir);
  return openImages({
    ...settings.images,
    ...options.images,
    ...forPods,
    readRegistries: async () =>
      options.images?.registries ?? (await readSettings(options.dataDir)).images?.registries ?? [],
    layout,
    builtIn: {
      [hostImageName]: hostImage(layout, options.now ?? Date.now),
      [sandboxdImageName]: sandboxdImage(layout, options.sandboxd ?? settings.sandboxd ?? builtSandboxd),
    },
    ...(options.now && { now: options.now }),
  });
}

/** Finds the programs, creates folders and the network. Does not change any Pod. */
export async function openMachine(
  options: MachineOptions,
  { tryRuntimes = true }: { readonly tryRuntimes?: boolean } = {},
): Promise<Machine> {
  if (process.getuid?.() !== 0) throw new NodeError("NodeSetup", "Cannot run Pods: the node needs root");
  const layout = layoutOf(options.dataDir);
  const settings = await readSettings(options.dataDir);
  await makeFolders(layout);
  const [runtimes, cgroups] = await Promise.all([
    openRuntimes({
      runDir: layout.runDir,
      cgroupParent: layout.cgroupParent,
      ...runtimeChoices(settings, options),
      tryFirst: tryRuntimes,
    }),
    detectCgroups(),
    // Report missing programs now and not when the first Pod needs them.
    Promise.all(["conmon", "ip", "nsenter", "nft", "mount", "umount", "find"].map((name) => findProgram(name))),
  ]);
  const budget = { ...(await budgetOf(layout.dataDir)), ...settings.budget, ...options.budget };
  const { records, trash, snapshots } = openRecords(layout);
  shareNamespaceFolder();
  const [network, usersProblems] = await Promise.all([
    openPodNetwork({ layout, subnet: options.subnet ?? settings.subnet }),
    tryRuntimes ? tryAllUsers(runtimes, layout) : new Map<string, string | undefined>(),
  ]);
  const users = new PodUsers(layout);
  await adoptPods({ layout, records, network, users });
  const withUsers = [...usersProblems].flatMap(([name, problem]) => (problem === undefined ? [name] : []));
  if (withUsers.length > 0) users.keepSpare();
  return {
    layout,
    records,
    trash,
    snapshots,
    network,
    users,
    cgroups,
    ...(await openState(options, { layout, cgroups, budget, trash })),
    ...machineRuntimes({ runtimes, users: usersProblems }),
    ...(await openPulls(options, { layout, cgroups, budget })),
    defaults: { ...resourceDefaults, ...settings.defaults, ...options.defaults },
    budget,
    budgetProblems: await limitSandboxes(cgroups, layout, budget),
    bounds: { swapAccounting: cgroups.swapAccounting, memoryBytes: budget.memoryBytes, pids: budget.pids },
    rules: {
      ...runtimeRules(runtimes, withUsers),
      allow: { privileged: false, hostPaths: [], hostUsers: false, ...settings.allow, ...options.allow },
      backoff: options.backoff ?? kubeletBackoff,
    },
    apiServer: options.apiServer,
    podCapacity: options.podCapacity ?? settings.podCapacity ?? network.pool.size,
    offered: settings.allocatable,
    capacity: await capacityOf(layout.dataDir),
    capabilities: boundingSet(await readFile("/proc/self/status", "utf8")),
    bootId: (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim(),
    diskCheckMs: options.diskCheckMs ?? 10_000,
    now: options.now ?? Date.now,
  };
}

async function openState(
  options: MachineOptions,
  { layout, cgroups, budget, trash }: Pick<Machine, "layout" | "cgroups" | "budget" | "trash">,
): Promise<Pick<Machine, "suspensions" | "saves" | "standstill" | "snapshotRoom" | "vault">> {
  const { blocks, bsize } = await statfs(layout.dataDir);
  const settings = await readSettings(options.dataDir);
  const limits = { ...defaultStateLimits(blocks * bsize), ...settings.state, ...options.state };
  const keys = await StateKeys.read([...(options.stateKeyFiles ?? []), ...(settings.stateKeyFiles ?? [])]);
  const vault = new ImageVault(keys, new PlainMemory({ layout, cgroups, memoryBytes: budget.memoryBytes }));
  return {
    vault,
    suspensions: await Suspensions.open(layout, limits, { vault, discard: (path) => trash.discard(path) }),
    saves: new FairLimiter({ total: limits.saves, perKey: limits.saves }),
    snapshotRoom: new SnapshotRoom({ quota: limits, folder: layout.dataDir, reserve: budget }),
    standstill: new FairLimiter({ total: Number.POSITIVE_INFINITY, perKey: 1 }),
  };
}

function openRecords(layout: Layout): Pick<Machine, "records" | "trash" | "snapshots"> {
  const trash = new Trash(layout.trashDir);
  const discard = (path: string): Promise<void> => trash.discard(path);
  return { trash, records: podRecords(layout, discard), snapshots: new SnapshotStore(layout, discard) };
}

/** Opens the image store and the network namespace for pulls. */
async function openPulls(
  options: MachineOptions,
  { layout, cgroups, budget }: Pick<Machine, "layout" | "cgroups" | "budget">,
): Promise<Pick<Machine, "pulls" | "images">> {
  const pulls = new IsolatedPulls(layout);
  const folders = countingFolders(cgroups, layout.helperCgroup);
  return { pulls, images: await openNodeImages(options, { network: pulls, cgroups: folders, reserve: budget }) };
}

function machineRuntimes(trials: Trials): Pick<Machine, "trials" | "runtimes" | "defaultRuntime" | "sharedKernel"> {
  const { runtimes } = trials;
  return {
    trials,
    runtimes: runtimes.present,
    defaultRuntime: runtimes.default,
    sharedKernel: sharedKernel(runtimes),
  };
}

function runtimeRules(runtimes: Runtimes, withUsers: readonly string[]): Omit<NodeRules, "allow" | "backoff"> {
  const ownKernels = [...runtimes.present.values()].filter((one) => one.sharesSandbox).map(({ name }) => name);
  return {
    runtimes: runtimes.usable,
    allowedRuntimes: runtimes.allowed,
    defaultRuntime: runtimes.default,
    ownUsers: [...ownKernels, ...withUsers],
    ownKernels,
    canSave: [...runtimes.present.values()].filter((one) => one.checkpoints !== undefined).map(({ name }) => name),
  };
}

/** Marks the addresses and user ids of existing Pods as taken. */
async function adoptPods({
  layout,
  records,
  network,
  users,
}: Pick<Machine, "layout" | "records" | "network" | "users">): Promise<void> {
  for (const record of (await records.list()).values()) {
    if (record === undefined || record.released) continue;
    network.adopt(podPaths(layout, record.uid).netns, record);
    if (record.ids !== undefined) users.adopt(record.ids);
  }
}

/** Why user namespaces do not work, for each runtime that shares the machine's kernel; undefined if they do. */
async function tryAllUsers({ present, usable }: Runtimes, layout: Layout): Promise<Map<string, string | undefined>> {
  const candidates = [...present.values()].filter((one) => canHaveUsers(one) && usable.includes(one.name));
  return new Map(await Promise.all(candidates.map(async (one) => [one.name, await tryUsers(one, layout)] as const)));
}

async function limitSandboxes(cgroups: Cgroups, layout: Layout, budget: Budget): Promise<string[]> {
  const problems = await limitCgroup(cgroups, layout.cgroupParent, budget);
  await makeCountingCgroup(cgroups, layout.helperCgroup);
  return problems.map((problem) => `The budget of all sandboxes is not enforced: ${problem}`);
}

async function budgetOf(folder: string): Promise<Budget> {
  const { blocks, bsize, files } = await statfs(folder);
  return defaultBudget(await readMachineSize({ diskBytes: blocks * bsize, inodes: files }));
}

async function capacityOf(folder: string): Promise<NodeCapacity> {
  const { blocks, bsize } = await statfs(folder);
  return { cpus: availableParallelism(), memoryBytes: totalmem(), diskBytes: blocks * bsize };
}

async function makeFolders(layout: Layout): Promise<void> {
  for (const folder of [
    layout.dataDir,
    layout.podsDir,
    layout.exitsDir,
    layout.imagesDir,
    layout.stateDir,
    layout.runDir,
  ]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
}
