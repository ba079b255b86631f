import { shadowPoolPrefix } from "@agent-sandbox/api";
import { statusOf } from "@agent-sandbox/sdk/internal";
import { z } from "zod";
import { controllerOf, type FoundSandbox, holderOf } from "./found-sandbox.ts";
import { expiryOf, onTimeoutOf } from "./lifetime.ts";
import { ownLabels, templateAnnotation } from "./owner.ts";

/** A sandbox as the tools report it. */
export const describedSandbox = z.object({
  sandbox: z.string(),
  namespace: z.string(),
  status: z.enum(["running", "paused", "starting", "failed"]),
  message: z.string().optional(),
  template: z.string().optional(),
  image: z.string().optional(),
  created_at: z.string(),
  expires_at: z.string().optional(),
  on_timeout: z.enum(["delete", "pause"]),
  labels: z.record(z.string(), z.string()),
});

export type DescribedSandbox = z.output<typeof describedSandbox>;

const statuses = { Ready: "running", Suspended: "paused", Starting: "starting", Failed: "failed" } as const;

export function describeSandbox(found: FoundSandbox): DescribedSandbox {
  const { name, namespace, claim, object } = found;
  const { phase, message } = object === undefined ? stateOfClaim(found) : statusOf(object);
  const holder = holderOf(found);
  const expiresAt = expiryOf(found);
  const template = claim?.metadata.annotations?.[templateAnnotation] ?? poolOf(found);
  const image = imageOf(found);
  return {
    sandbox: name,
    namespace,
    status: statuses[phase],
    ...(message !== undefined && { message }),
    ...(template !== undefined && { template }),
    ...(image !== undefined && { image }),
    created_at: holder.metadata.creationTimestamp ?? "",
    ...(expiresAt !== undefined && { expires_at: expiresAt.toISOString() }),
    on_timeout: onTimeoutOf(found),
    labels: ownLabels(holder),
  };
}

/** A claim that has no Sandbox yet. */
function stateOfClaim({ claim }: FoundSandbox): { readonly phase: "Starting"; readonly message?: string } {
  const ready = claim?.status?.conditions?.find(({ type }) => type === "Ready");
  return { phase: "Starting", ...(ready?.message !== undefined && { message: ready.message }) };
}

function poolOf({ claim }: FoundSandbox): string | undefined {
  const name = claim?.spec.warmPoolRef.name;
  return name?.startsWith(shadowPoolPrefix) === true ? name.slice(shadowPoolPrefix.length) : name;
}

function imageOf({ claim, object }: FoundSandbox): string | undefined {
  if (claim !== undefined || object === undefined || controllerOf(object) !== undefined) return undefined;
  const { containers = [] } = object.spec.podTemplate.spec as { readonly containers?: readonly { image?: string }[] };
  return containers[0]?.image;
}
