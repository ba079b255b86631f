import type { Node } from "@agent-sandbox/api";

/** What is known of the machine, for its Node object. */
export interface MachineFacts {
  readonly name: string;
  readonly hostname: string;
  readonly address: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly pods: number;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  readonly kernel: string;
  readonly osImage: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly runtimeVersion: string;
  readonly version: string;
}

/** The Node as this machine wants it to be. `now` counts only when the Node becomes ready. */
export function nodeObject(facts: MachineFacts, before: Node | undefined, now: number): Node {
  const capacity = {
    cpu: String(facts.cpus),
    memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
    pods: String(facts.pods),
  };
  const ready = before?.status?.conditions?.find(({ type, status }) => type === "Ready" && status === "True");
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
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
      allocatable: capacity,
      addresses: [
        { type: "InternalIP", address: facts.address },
        { type: "Hostname", address: facts.hostname },
      ],
      conditions: [
        ready ?? {
          type: "Ready",
          status: "True",
          reason: "NodeReady",
          message: "the node runs Pods",
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
      ],
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
