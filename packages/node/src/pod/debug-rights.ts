import { capabilityName, ownKernelCapabilities } from "../oci/capabilities.ts";
import type { Member } from "./members.ts";

/**
 * Removes SYS_PTRACE, which `kubectl debug` requests by default, from ephemeral containers that share the machine's kernel.
 * Debuggers still work: root in the container may trace root's processes in the Pod without it.
 */
export function withoutTracing(member: Member): { readonly member: Member; readonly left: readonly string[] } {
  const { container, role } = member;
  const wanted = container.securityContext?.capabilities?.add ?? [];
  const left = wanted.filter((name) => ownKernelCapabilities.includes(capabilityName(name)));
  if (role !== "ephemeral" || left.length === 0) return { member, left: [] };
  const add = wanted.filter((name) => !left.includes(name));
  const securityContext = {
    ...container.securityContext,
    capabilities: { ...container.securityContext?.capabilities, add },
  };
  return { member: { ...member, container: { ...container, securityContext } }, left };
}
