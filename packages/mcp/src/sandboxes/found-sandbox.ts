import { Sandbox, SandboxError } from "@agent-sandbox/sdk";
import type { ClaimObject, KubeObject, SandboxObject } from "@agent-sandbox/sdk/internal";
import type { Caller } from "../caller.ts";

/** A sandbox by the name that the caller uses: that of its claim, or of the Sandbox itself. */
export interface FoundSandbox {
  readonly name: string;
  readonly namespace: string;
  readonly claim?: ClaimObject;
  /** Absent as long as the claim has no Sandbox. */
  readonly object?: SandboxObject;
}

/** The object that carries labels, annotations and the deadline. */
export function holderOf({ claim, object, name }: FoundSandbox): ClaimObject | SandboxObject {
  const holder = claim ?? object;
  if (holder === undefined) throw new SandboxError("NotFound", `Cannot find sandbox "${name}"`);
  return holder;
}

/** The SDK's handle. */
export function handleOf({ api, router }: Caller, { name, namespace, claim, object }: FoundSandbox): Sandbox {
  if (object === undefined) throw new SandboxError("Starting", `Cannot use sandbox "${name}": it has not started yet`);
  const { name: sandboxName = "", uid } = object.metadata;
  const held = claim && { claim: { name: claim.metadata.name ?? "", uid: claim.metadata.uid } };
  return new Sandbox(api, router, { name: sandboxName, namespace, uid, isOwned: false, ...held });
}

interface OwnerReference {
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean;
}

/** The object that manages a Sandbox: a claim, or the pool whose member it is. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  const { ownerReferences = [] } = metadata as { readonly ownerReferences?: readonly OwnerReference[] };
  return ownerReferences.find(({ controller }) => controller === true);
}
