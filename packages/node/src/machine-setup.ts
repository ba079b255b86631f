import { mkdir, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { NodeError } from "./errors.ts";
import { openHostImage } from "./image/host-image.ts";
import { builtInImages, type Image } from "./image/image-store.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { openPodNetwork } from "./network/pod-network.ts";
import type { NodeCapacity } from "./oci/downward.ts";
import { type ResourceDefaults, resourceDefaults } from "./oci/resources.ts";
import { type BackoffPolicy, kubeletBackoff } from "./pod/backoff.ts";
import type { Machine } from "./pod/machine.ts";
import type { Allowances } from "./pod/observed.ts";
import { imagesOf, podRecords } from "./pod/record.ts";
import type { RuntimeRegistration } from "./runtime/oci-runtime.ts";
import { openRuntimes } from "./runtime/open-runtimes.ts";
import { detectCgroups } from "./system/cgroups.ts";
import { findProgram } from "./system/find-program.ts";

export interface MachineOptions {
  /** Everything the node keeps lies in its `node` folder. */
  readonly dataDir: string;
  /** Default: chosen once among the free ones and kept. */
  readonly subnet?: string | undefined;
  /** Besides, or in place of, `gvisor` and `runc`, which are found by themselves. */
  readonly runtimes?: readonly RuntimeRegistration[];
  /** For Pods that name no runtimeClassName. Default: gVisor when it works here, else runc. */
  readonly defaultRuntime?: string;
  readonly defaults?: Partial<ResourceDefaults>;
  readonly allow?: Partial<Allowances>;
  /** How long containers that end wait before they start again. Default: the kubelet's 10 s to 5 min. */
  readonly backoff?: BackoffPolicy;
  readonly now?: () => number;
}

/** Finds the programs, makes the folders and the network. Nothing of a Pod is touched. */
export async function openMachine(options: MachineOptions): Promise<Machine> {
  if (process.getuid?.() !== 0) throw new NodeError("NodeSetup", "Cannot run Pods: the node needs root");
  const layout = layoutOf(options.dataDir);
  await makeFolders(layout);
  const [runtimes, cgroups] = await Promise.all([
    openRuntimes({
      runDir: layout.runDir,
      registrations: options.runtimes,
      defaultRuntime: options.defaultRuntime,
    }),
    detectCgroups(),
    // A missing program is told now, and not by the first Pod that needs it.
    Promise.all(["conmon", "ip", "nft", "mount", "umount", "find"].map((name) => findProgram(name))),
  ]);
  const records = podRecords(layout);
  const network = await openPodNetwork({ layout, subnet: options.subnet });
  const known = [...(await records.list()).values()].filter((record) => record !== undefined);
  for (const { address, released } of known) if (!released) network.pool.claim(address);
  const inUse = new Set(known.flatMap(imagesOf));
  return {
    layout,
    records,
    network,
    cgroups,
    runtimes: runtimes.present,
    defaultRuntime: runtimes.default,
    images: builtInImages(once(() => openHostImage(layout, inUse))),
    defaults: { ...resourceDefaults, ...options.defaults },
    rules: {
      runtimes: [...runtimes.present.keys()],
      allow: { privileged: false, hostPaths: [], ...options.allow },
      backoff: options.backoff ?? kubeletBackoff,
    },
    capacity: await capacityOf(layout.dataDir),
    now: options.now ?? Date.now,
  };
}

async function capacityOf(folder: string): Promise<NodeCapacity> {
  const { blocks, bsize } = await statfs(folder);
  return { cpus: availableParallelism(), memoryBytes: totalmem(), diskBytes: blocks * bsize };
}

async function makeFolders(layout: Layout): Promise<void> {
  for (const folder of [layout.dataDir, layout.podsDir, layout.exitsDir, layout.imagesDir, layout.runDir]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
}

/** Done when first asked for; done anew after a failure. */
function once(open: () => Promise<Image>): () => Promise<Image> {
  let opened: Promise<Image> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
