import { epochAnnotation, type Pod, type Sandbox } from "@agent-sandbox/api";

/**
 * The epoch of the memory in the Pod; undefined for a Sandbox that never continued from saved memory. The Pod is asked
 * first: requests that waited for a resume are sent before the controller has updated the Sandbox's status.
 */
export function epochOf({ status }: Sandbox, { metadata }: Pod): number | undefined {
  const written = metadata?.annotations?.[epochAnnotation] ?? "";
  return /^\d{1,15}$/.test(written) ? Number(written) : status?.suspension?.epoch;
}
