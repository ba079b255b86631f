import { activityChange, runSecondsAnnotation, type Sandbox, suspendAtAnnotation } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { lifetimeOf, patchClaim, patchSandbox } from "./lifetime.ts";
import type { Machine } from "./machine.ts";

type Bound = Machine & { readonly sandbox: Sandbox };

export interface PauseSpec {
  readonly resumePolicy: "Manual" | "OnTraffic";
  readonly suspendPolicy: { readonly depth: "Memory" | "Filesystem"; readonly fallback: "Allow" };
}

/**
 * Suspends a machine and removes its deadline: a paused one is kept without a limit. The deadline of a claim is in another object. If
 * this server ends between the writes, the machine still has a deadline, and it is not one that deletes a suspended machine.
 */
export async function pauseMachine(client: Client, { claim, sandbox }: Bound, spec: PauseSpec): Promise<Sandbox> {
  const annotations = { [suspendAtAnnotation]: null };
  if (claim === undefined) {
    const suspended = { ...spec, operatingMode: "Suspended", shutdownTime: null };
    return patchSandbox(client, sandbox, { metadata: { annotations }, spec: suspended });
  }
  const deadline = claim.spec.lifecycle?.shutdownTime;
  if (typeof deadline === "string") {
    // From here on the deadline suspends the machine instead of deleting it.
    await patchSandbox(client, sandbox, { metadata: { annotations: { [suspendAtAnnotation]: deadline } }, spec });
    await patchClaim(client, claim, { spec: { lifecycle: { shutdownTime: null } } });
  }
  return patchSandbox(client, sandbox, { metadata: { annotations }, spec: { ...spec, operatingMode: "Suspended" } });
}

export interface NewRun {
  readonly now: number;
  /** Undefined: the machine has no deadline. */
  readonly seconds: number | undefined;
}

/**
 * Lets a paused machine run until its new deadline. At first the deadline suspends it again; `settled` resolves when it deletes the
 * machine, if that is what its deadline does.
 */
export async function resumeMachine(
  client: Client,
  machine: Bound,
  { now, seconds }: NewRun,
): Promise<{ readonly asked: Sandbox; readonly settled: Promise<void> }> {
  const { claim, sandbox } = machine;
  const { annotations } = activityChange(sandbox, now).body.metadata;
  const running = { operatingMode: "Running" };
  if (seconds === undefined) {
    const asked = await patchSandbox(client, sandbox, { metadata: { annotations }, spec: running });
    return { asked, settled: Promise.resolve() };
  }
  const deadline = new Date(now + Math.max(0, seconds) * 1000).toISOString();
  if (claim === undefined) {
    const spec = { ...running, shutdownTime: deadline, shutdownPolicy: "Delete" };
    return {
      asked: await patchSandbox(client, sandbox, { metadata: { annotations }, spec }),
      settled: Promise.resolve(),
    };
  }
  const pauses = lifetimeOf(machine).onTimeout === "pause";
  const timing = { [suspendAtAnnotation]: deadline, ...(pauses && { [runSecondsAnnotation]: String(seconds) }) };
  const asked = await patchSandbox(client, sandbox, {
    metadata: { annotations: { ...annotations, ...timing } },
    spec: running,
  });
  return { asked, settled: pauses ? Promise.resolve() : deleteAt(client, { claim, sandbox }, deadline) };
}

async function deleteAt(
  client: Client,
  { claim, sandbox }: Required<Pick<Bound, "sandbox">> & { readonly claim: NonNullable<Machine["claim"]> },
  deadline: string,
): Promise<void> {
  await patchClaim(client, claim, { spec: { lifecycle: { shutdownTime: deadline, shutdownPolicy: "Delete" } } });
  await patchSandbox(client, sandbox, { metadata: { annotations: { [suspendAtAnnotation]: null } } });
}
