import { capabilityName, ownKernelCapabilities } from "../oci/capabilities.ts";
import type { Member } from "./members.ts";

/**
 * `kubectl debug` asks for SYS_PTRACE unless it is told otherwise. Where the kernel is the machine's, a person who looks
 * into a Pod gets the container without it: root in it traces root's processes all the same, which have no more rights.
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
