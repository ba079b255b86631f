import type { Pod, Sandbox } from "@agent-sandbox/api";

/** One port of one pod: the pod's UID is part of it, so that an address alone never stands for a sandbox. */
export interface Target {
  readonly sandbox: Sandbox;
  readonly podUid: string;
  readonly podName: string;
  readonly namespace: string;
  readonly ip: string;
  readonly port: number;
}

/** Connections are kept and shared under this. */
export function targetKey({ podUid, ip, port }: Target): string {
  return `${podUid}|${ip}|${port}`;
}

/** The pod's addresses, the first being the one to take. */
export function addressesOf(pod: Pod): string[] {
  const { podIP, podIPs = [] } = pod.status ?? {};
  const all = [podIP, ...podIPs.map(({ ip }) => ip)].filter((ip) => ip !== undefined && ip !== "") as string[];
  return [...new Set(all)];
}

/** Whether the pod still runs, as far as its object tells. */
export function isAlive(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return pod.metadata?.deletionTimestamp === undefined && phase !== "Succeeded" && phase !== "Failed";
}
