import {
  claimUidLabel,
  controllerOf,
  type GroupKind,
  groupOf,
  isControlledBy,
  type OwnerReference,
  refersToKind,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
} from "@agent-sandbox/api";
import { type Client, isReason, type KubeObject, type ObjectKey, type Resource } from "@agent-sandbox/kube";
import { annotationOf, sandboxUidAnnotation } from "./compat-annotations.ts";
import { isName } from "./names.ts";

/** What foreign clients call a sandbox: a claim with its Sandbox, or a Sandbox without a claim. */
export interface Machine {
  readonly namespace: string;
  /** The name that the client uses. */
  readonly name: string;
  readonly claim: SandboxClaim | undefined;
  /** Absent while the claim has none. */
  readonly sandbox: Sandbox | undefined;
}

interface Finder {
  readonly client: Client;
  readonly namespace: string;
}

/** Undefined if there is none, it is being deleted, or its Sandbox was replaced by another one. */
export async function findMachine(finder: Finder, name: string): Promise<Machine | undefined> {
  if (!isName(name)) return undefined;
  const { namespace } = finder;
  const claim = await find(finder.client, sandboxClaims, { namespace, name });
  if (claim !== undefined) return machineOfClaim(finder, claim);
  const sandbox = await find(finder.client, sandboxes, { namespace, name });
  if (sandbox === undefined || isEnding(sandbox) || (await hasLostClaim(finder, sandbox))) return undefined;
  return { namespace, name, claim: undefined, sandbox };
}

export const isEnding = (object: SandboxClaim | Sandbox | undefined): boolean =>
  object?.metadata.deletionTimestamp !== undefined;

const claimKind: GroupKind = { group: groupOf(sandboxClaims.apiVersion), kind: sandboxClaims.kind };

/** The claim that a Sandbox belongs to. The Sandbox is deleted a moment after it. */
export function owningClaim(sandbox: Sandbox): OwnerReference | undefined {
  const owner = controllerOf(sandbox);
  return owner !== undefined && refersToKind(owner, claimKind) ? owner : undefined;
}

async function hasLostClaim({ client, namespace }: Finder, sandbox: Sandbox): Promise<boolean> {
  const owner = owningClaim(sandbox);
  if (owner === undefined) return false;
  const claim = await find(client, sandboxClaims, { namespace, name: owner.name });
  return claim?.metadata.uid !== owner.uid || isEnding(claim);
}

export async function machineOfClaim({ client, namespace }: Finder, claim: SandboxClaim): Promise<Machine | undefined> {
  const { name = "" } = claim.metadata;
  if (isEnding(claim)) return undefined;
  const sandboxName = claim.status?.sandbox?.name;
  const found = sandboxName === undefined ? undefined : await find(client, sandboxes, { namespace, name: sandboxName });
  return assemble({ namespace, name, claim, sandbox: found });
}

/** The same from objects that are known. */
export function assemble(machine: Machine): Machine | undefined {
  const { claim, sandbox } = machine;
  if (claim === undefined) return machine;
  const held = sandbox !== undefined && isHeldBy(sandbox, claim) ? sandbox : undefined;
  const first = annotationOf(claim, sandboxUidAnnotation);
  // The controller gives a claim whose Sandbox was deleted a new one. For the client that is another machine.
  const isReplaced = first !== undefined && first !== held?.metadata.uid;
  return isReplaced ? undefined : { ...machine, sandbox: held };
}

export function isHeldBy(sandbox: Sandbox, { metadata: { uid } }: SandboxClaim): boolean {
  if (uid === undefined) return false;
  return isControlledBy(sandbox, uid) || sandbox.metadata.labels?.[claimUidLabel] === uid;
}

/** Undefined if there is no such object. */
export async function find<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  key: ObjectKey,
): Promise<T | undefined> {
  try {
    return await client.get(resource, key);
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
}
