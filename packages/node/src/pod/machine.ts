import type { Budget } from "../budget.ts";
import { NodeError } from "../errors.ts";
import type { Images } from "../image/open-images.ts";
import type { Layout } from "../layout.ts";
import type { PodNetwork } from "../network/pod-network.ts";
import type { NodeCapacity } from "../oci/downward.ts";
import type { ResourceBounds, ResourceDefaults } from "../oci/resources.ts";
import type { OciRuntime } from "../runtime/oci-runtime.ts";
import type { SharedKernel } from "../runtime/shared-kernel.ts";
import type { Cgroups } from "../system/cgroups.ts";
import type { Trash } from "../system/trash.ts";
import type { PodUsers } from "../users/pod-users.ts";
import type { NodeRules } from "./observed.ts";
import type { PodRecords } from "./record.ts";

/** The parts of this machine that Pods are made of. */
export interface Machine {
  readonly layout: Layout;
  readonly records: PodRecords;
  /** Where trees go that containers have written and nobody needs any more. */
  readonly trash: Trash;
  readonly images: Images;
  /** The network that images for Pods are pulled through. */
  readonly pulls: AsyncDisposable;
  readonly network: PodNetwork;
  readonly runtimes: ReadonlyMap<string, OciRuntime>;
  readonly defaultRuntime: string;
  /** Why Pods that name no runtime share this machine's kernel; undefined when they do not. */
  readonly sharedKernel: SharedKernel | undefined;
  readonly users: PodUsers;
  readonly cgroups: Cgroups;
  readonly defaults: ResourceDefaults;
  /** What all sandboxes may use together. */
  readonly budget: Budget;
  /** The parts of the budget that this machine cannot enforce, for the operator to read. */
  readonly budgetProblems: readonly string[];
  readonly bounds: ResourceBounds;
  /** What Pods may ask for here. */
  readonly rules: NodeRules;
  readonly capacity: NodeCapacity;
  readonly podCapacity: number;
  /** All that this process could give to a container. */
  readonly capabilities: readonly string[];
  /** Another after each start of the machine. */
  readonly bootId: string;
  /** How often what Pods have on the disk is counted. */
  readonly diskCheckMs: number;
  /** Wall-clock milliseconds. */
  readonly now: () => number;
}

export function runtimeNamed(machine: Machine, name: string): OciRuntime {
  const runtime = machine.runtimes.get(name);
  if (runtime === undefined) {
    throw new NodeError(
      "CreateContainerError",
      `Cannot use runtime "${name}": registered are ${[...machine.runtimes.keys()].join(", ")}`,
    );
  }
  return runtime;
}
