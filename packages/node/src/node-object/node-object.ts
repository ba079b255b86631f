import type { Node } from "@agent-sandbox/api";
import type { SharedKernel } from "../runtime/shared-kernel.ts";
import { pressuresOf, type Room } from "./pressure.ts";

/** What Pods may request together, as quantities. It may be more than the machine has. */
export interface Offered {
  /** Default: the CPUs of the machine. */
  readonly cpu?: string;
  /** Default: `budget.memoryBytes`. */
  readonly memory?: string;
  /** Default: the disk without `budget.diskFreeBytes`. */
  readonly "ephemeral-storage"?: string;
}

/** Properties of the machine for its Node object. */
export interface MachineFacts {
  readonly name: string;
  readonly hostname: string;
  readonly address: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly pods: number;
  /** What Pods may request of this. */
  readonly allocatable: { readonly memoryBytes: number; readonly diskBytes: number };
  /** The operator's own amounts, by resource. */
  readonly offered?: Offered | undefined;
  /** Go's name, such as `amd64`. */
  readonly architecture: string;
  readonly kernel: string;
  readonly osImage: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly runtimeVersion: string;
  readonly version: string;
  /** Why Pods without `runtimeClassName` share the machine's kernel; undefined if they do not. */
  readonly sharedKernel: SharedKernel | undefined;
}

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** The desired Node object. `now` becomes the transition time of conditions that change. */
export function nodeObject(facts: MachineFacts & { readonly room: Room }, before: Node | undefined, now: number): Node {
  const capacity = {
    cpu: String(facts.cpus),
    memory: kibibytes(facts.memoryBytes),
    pods: String(facts.pods),
    "ephemeral-storage": kibibytes(facts.diskBytes),
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: facts.name,
      labels: {
        "kubernetes.io/arch": facts.architecture,
        "kubernetes.io/hostname": facts.hostname,
        "kubernetes.io/os": "linux",
      },
    },
    status: {
      capacity,
      allocatable: {
        ...capacity,
        memory: kibibytes(facts.allocatable.memoryBytes),
        "ephemeral-storage": kibibytes(facts.allocatable.diskBytes),
        ...facts.offered,
      },
      addresses: [
        { type: "InternalIP", address: facts.address },
        { type: "Hostname", address: facts.hostname },
      ],
      conditions: conditionsOf(facts).map((one) => timed(one, before, now)),
      nodeInfo: {
        architecture: facts.architecture,
        bootID: facts.bootId,
        containerRuntimeVersion: facts.runtimeVersion,
        kernelVersion: facts.kernel,
        kubeProxyVersion: "",
        kubeletVersion: facts.version,
        machineID: facts.machineId,
        operatingSystem: "linux",
        osImage: facts.osImage,
        systemUUID: facts.machineId,
      },
    },
  };
}

const kibibytes = (bytes: number): string => `${Math.floor(bytes / 1024)}Ki`;

type Untimed = Required<Pick<Condition, "type" | "status" | "reason" | "message">>;

function conditionsOf({ sharedKernel, room }: MachineFacts & { readonly room: Room }): Untimed[] {
  const { reason, message } = sharedKernel ?? {
    reason: "OwnKernel",
    message: "Pods without runtimeClassName have their own kernel",
  };
  return [
    { type: "Ready", status: "True", reason: "NodeReady", message: "the node runs Pods" },
    ...pressuresOf(room),
    { type: "SharedKernel", status: sharedKernel === undefined ? "False" : "True", reason, message },
  ];
}

function timed(wanted: Untimed, before: Node | undefined, now: number): Condition {
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  const old = before?.status?.conditions?.find(({ type, status }) => type === wanted.type && status === wanted.status);
  return {
    ...wanted,
    lastHeartbeatTime: old?.lastHeartbeatTime ?? time,
    lastTransitionTime: old?.lastTransitionTime ?? time,
  };
}
