import type { Budget } from "../budget.ts";
import type { Trials } from "../doctor/examine.ts";
import { NodeError } from "../errors.ts";
import type { Images } from "../image/open-images.ts";
import type { Layout } from "../layout.ts";
import type { ApiServerPlace } from "../network/api-access.ts";
import type { PodNetwork } from "../network/pod-network.ts";
import type { Offered } from "../node-object/node-object.ts";
import type { NodeCapacity } from "../oci/downward.ts";
import type { ResourceBounds, ResourceDefaults } from "../oci/resources.ts";
import type { OciRuntime } from "../runtime/oci-runtime.ts";
import type { SharedKernel } from "../runtime/shared-kernel.ts";
import type { ImageVault } from "../state/image-vault.ts";
import type { SnapshotRoom } from "../state/snapshot-room.ts";
import type { SnapshotStore } from "../state/snapshot-store.ts";
import type { Suspensions } from "../state/suspensions.ts";
import type { Cgroups } from "../system/cgroups.ts";
import type { FairLimiter } from "../system/fair-limiter.ts";
import type { Trash } from "../system/trash.ts";
import type { PodUsers } from "../users/pod-users.ts";
import type { NodeRules } from "./observed.ts";
import type { PodRecords } from "./record.ts";

/** Everything on this machine that the node uses to run Pods. */
export interface Machine {
  readonly layout: Layout;
  readonly records: PodRecords;
  /** Removes folders that containers have written, in the background. */
  readonly trash: Trash;
  readonly images: Images;
  /** The network that images for Pods are pulled through. */
  readonly pulls: AsyncDisposable;
  readonly network: PodNetwork;
  readonly runtimes: ReadonlyMap<string, OciRuntime>;
  readonly defaultRuntime: string;
  /** What test containers showed at the start. */
  readonly trials: Trials;
  /** Why Pods without `runtimeClassName` share this machine's kernel; undefined if they do not. */
  readonly sharedKernel: SharedKernel | undefined;
  readonly users: PodUsers;
  readonly cgroups: Cgroups;
  /** The saved memory of suspended Sandboxes. */
  readonly suspensions: Suspensions;
  /** Limits how many Pods are saved at the same time. */
  readonly saves: FairLimiter;
  /** Lets one task at a time pause a Pod. Keys are UIDs of Pods. */
  readonly standstill: FairLimiter;
  readonly snapshots: SnapshotStore;
  readonly snapshotRoom: SnapshotRoom;
  /** Encrypts images, and decrypts them. */
  readonly vault: ImageVault;
  readonly defaults: ResourceDefaults;
  /** The limits of all sandboxes together. */
  readonly budget: Budget;
  /** Warnings about the parts of the budget that this machine cannot enforce. */
  readonly budgetProblems: readonly string[];
  readonly bounds: ResourceBounds;
  /** The rules for Pods whose Namespace has no rules of its own. */
  readonly rules: NodeRules;
  readonly capacity: NodeCapacity;
  readonly podCapacity: number;
  /** The operator's own amounts that Pods may request. */
  readonly offered: Offered | undefined;
  /** The API server, once it listens. Undefined if Pods cannot use it. */
  readonly apiServer: (() => ApiServerPlace | undefined) | undefined;
  /** The bounding set of this process. A container gets no capability outside it. */
  readonly capabilities: readonly string[];
  /** Changes with each boot of the machine. */
  readonly bootId: string;
  /** The interval between two measurements of disk usage. */
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
