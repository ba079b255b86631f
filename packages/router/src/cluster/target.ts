import type { Pod, Sandbox } from "@agent-sandbox/api";

/** One port of one pod. The pod's UID is included because an address alone does not identify a sandbox. */
export interface Target {
  readonly sandbox: Sandbox;
  readonly podUid: string;
  readonly podName: string;
  readonly namespace: string;
  readonly ip: string;
  readonly port: number;
  /** See `epochOf`. */
  readonly epoch: number | undefined;
}

/** The key under which connections are pooled. */
export function targetKey({ podUid, ip, port }: Target): string {
  return `${podUid}|${ip}|${port}`;
}

/** The pod's addresses, the preferred one first. */
export function addressesOf(pod: Pod): string[] {
  const { podIP, podIPs = [] } = pod.status ?? {};
  const all = [podIP, ...podIPs.map(({ ip }) => ip)].filter((ip) => ip !== undefined && ip !== "") as string[];
  return [...new Set(all)];
}

/** Whether the pod is neither finished nor being deleted. */
export function isAlive(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return pod.metadata?.deletionTimestamp === undefined && phase !== "Succeeded" && phase !== "Failed";
}
