import { controllerOf, type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import type { Account } from "../keys/accounts.ts";
import { type Face, faceLabel } from "./compat-annotations.ts";
import { assemble, isEnding, type Machine } from "./machine.ts";

/** What the clients of one protocol created in the caller's namespace: claims, and Sandboxes without a claim. */
export async function listMachines({ client, namespace }: Account, face: Face): Promise<Machine[]> {
  const labelSelector = `${faceLabel}=${face}`;
  const [claims, found] = await Promise.all([
    client.list(sandboxClaims, { namespace, labelSelector }),
    client.list(sandboxes, { namespace }),
  ]);
  const byName = new Map(found.items.map((sandbox: Sandbox) => [sandbox.metadata.name, sandbox]));
  const claimed = claims.items.flatMap((claim: SandboxClaim) => {
    const bound = claim.status?.sandbox?.name;
    const sandbox = bound === undefined ? undefined : byName.get(bound);
    const machine = assemble({ namespace, name: claim.metadata.name ?? "", claim, sandbox });
    return machine === undefined || isEnding(claim) ? [] : [machine];
  });
  const direct = found.items.filter((sandbox: Sandbox) => {
    const { labels } = sandbox.metadata;
    return labels?.[faceLabel] === face && controllerOf(sandbox) === undefined && !isEnding(sandbox);
  });
  return [
    ...claimed,
    ...direct.map((sandbox) => ({ namespace, name: sandbox.metadata.name ?? "", claim: undefined, sandbox })),
  ];
}
