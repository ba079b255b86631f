import { mkdir } from "node:fs/promises";
import { NodeError } from "./errors.ts";
import { openHostImage } from "./image/host-image.ts";
import { builtInImages, type Image } from "./image/image-store.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { openPodNetwork } from "./network/pod-network.ts";
import { type ResourceDefaults, resourceDefaults } from "./oci/resources.ts";
import type { Machine } from "./pod/machine.ts";
import { podRecords } from "./pod/record.ts";
import { type OciRuntime, openRuntime, type RuntimeRegistration } from "./runtime/oci-runtime.ts";
import { detectCgroups } from "./system/cgroups.ts";
import { findProgram } from "./system/find-program.ts";

export interface MachineOptions {
  /** Everything the node keeps lies in its `node` folder. */
  readonly dataDir: string;
  /** Default: chosen once among the free ones and kept. */
  readonly subnet?: string | undefined;
  /** The first is the one of Pods that name no runtimeClassName. Default: runc. */
  readonly runtimes?: readonly RuntimeRegistration[];
  readonly defaults?: Partial<ResourceDefaults>;
  readonly now?: () => number;
}

const runc: RuntimeRegistration = { name: "runc", program: "runc" };

/** Finds the programs, makes the folders and the network. Nothing of a Pod is touched. */
export async function openMachine(options: MachineOptions): Promise<Machine> {
  if (process.getuid?.() !== 0) throw new NodeError("NodeSetup", "Cannot run Pods: the node needs root");
  const layout = layoutOf(options.dataDir);
  await makeFolders(layout);
  const [runtimes, cgroups] = await Promise.all([
    Promise.all((options.runtimes ?? [runc]).map((one) => openRuntime(one, layout.runDir))),
    detectCgroups(),
    // A missing program is told now, and not by the first Pod that needs it.
    Promise.all(["conmon", "ip", "nft", "mount", "umount", "find"].map((name) => findProgram(name))),
  ]);
  const records = podRecords(layout);
  const network = await openPodNetwork({ layout, subnet: options.subnet });
  const known = [...(await records.list()).values()].filter((record) => record !== undefined);
  for (const { address, released } of known) if (!released) network.pool.claim(address);
  const inUse = new Set(known.map(({ image }) => image));
  return {
    layout,
    records,
    network,
    cgroups,
    runtimes: new Map(runtimes.map((runtime) => [runtime.name, runtime])),
    defaultRuntime: firstOf(runtimes).name,
    images: builtInImages(once(() => openHostImage(layout, inUse))),
    defaults: { ...resourceDefaults, ...options.defaults },
    now: options.now ?? Date.now,
  };
}

async function makeFolders(layout: Layout): Promise<void> {
  for (const folder of [layout.dataDir, layout.podsDir, layout.exitsDir, layout.imagesDir, layout.runDir]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
}

function firstOf(runtimes: readonly OciRuntime[]): OciRuntime {
  const [first] = runtimes;
  if (first === undefined) throw new NodeError("NodeSetup", "Cannot run Pods: no runtime is registered");
  return first;
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
