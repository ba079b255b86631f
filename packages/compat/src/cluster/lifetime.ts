import { type Sandbox, type SandboxClaim, sandboxClaims, sandboxes, suspendAtAnnotation } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { annotationOf, autoResumeAnnotation, onTimeoutAnnotation } from "./compat-annotations.ts";
import type { Machine } from "./machine.ts";

/** What happens to a machine at its deadline, and whether traffic resumes it when it is paused. */
export interface Lifetime {
  readonly onTimeout: "kill" | "pause";
  readonly autoResume: boolean;
}

export function lifetimeOf({ claim, sandbox }: Pick<Machine, "claim" | "sandbox">): Lifetime {
  const autoResume =
    claim === undefined
      ? sandbox?.spec.resumePolicy === "OnTraffic"
      : annotationOf(claim, autoResumeAnnotation) === "true";
  return { onTimeout: annotationOf(claim, onTimeoutAnnotation) === "pause" ? "pause" : "kill", autoResume };
}

export function lifetimeAnnotations({ onTimeout, autoResume }: Lifetime): Readonly<Record<string, string>> {
  return {
    ...(onTimeout === "pause" && { [onTimeoutAnnotation]: "pause" }),
    ...(autoResume && { [autoResumeAnnotation]: "true" }),
  };
}

/** When the machine ends or is paused, in RFC 3339. */
export function deadlineOf({ claim, sandbox }: Machine): string | undefined {
  return (
    annotationOf(sandbox, suspendAtAnnotation) ?? claim?.spec.lifecycle?.shutdownTime ?? sandbox?.spec.shutdownTime
  );
}

/** Sets the deadline of a machine that runs. */
export async function setDeadline(client: Client, machine: Machine, deadline: Date): Promise<void> {
  const time = deadline.toISOString();
  const { claim, sandbox } = machine;
  const pauses = lifetimeOf(machine).onTimeout === "pause";
  const suspendAt = (at: string | null): object => ({ metadata: { annotations: { [suspendAtAnnotation]: at } } });
  if (claim === undefined) {
    if (sandbox === undefined) return;
    await patchSandbox(client, sandbox, { spec: { shutdownTime: time, shutdownPolicy: "Delete" } });
  } else if (pauses) {
    if (sandbox !== undefined) await patchSandbox(client, sandbox, suspendAt(time));
  } else {
    await patchClaim(client, claim, { spec: { lifecycle: { shutdownTime: time, shutdownPolicy: "Delete" } } });
    // A server that ended while it paused or resumed the machine has left the annotation.
    const isLeft = annotationOf(sandbox, suspendAtAnnotation) !== undefined;
    if (isLeft && sandbox !== undefined) await patchSandbox(client, sandbox, suspendAt(null));
  }
}

/** Changes the claim that was read, not a later one of the same name. */
export function patchClaim(client: Client, claim: SandboxClaim, body: object): Promise<SandboxClaim> {
  const { name = "", namespace = "", uid = "" } = claim.metadata;
  return client.patch(sandboxClaims, { namespace, name }, { type: "merge", body, preconditions: { uid } });
}

export function patchSandbox(client: Client, sandbox: Sandbox, body: object): Promise<Sandbox> {
  const { name = "", namespace = "", uid = "" } = sandbox.metadata;
  return client.patch(sandboxes, { namespace, name }, { type: "merge", body, preconditions: { uid } });
}
