import { mergePatch, type Pod, type Sandbox, type SandboxStatus, sandboxes, semanticEqual } from "@agent-sandbox/api";
import { type Client, isReason, type Resource } from "@agent-sandbox/kube";
import { type Action, decide } from "./decide.ts";
import type { Observed } from "./observe.ts";

export const pods: Resource<Pod> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

/**
 * Carries out the actions, then reports on what their answers showed: a status about the state before them would be
 * out of date when it is written, and cost one more write to correct. A failure is reported and thrown.
 */
export async function reconcileSandbox(client: Client, seen: Observed, now: () => number): Promise<void> {
  const report = (after: Observed) => writeStatus(client, seen.sandbox, decide(after, now()).status);
  let after = seen;
  try {
    for (const action of decide(seen, now()).actions) after = await perform(client, after, action);
  } catch (error) {
    await report({ ...after, failure: error instanceof Error ? error.message : String(error) });
    throw error;
  }
  await report(after);
}

async function perform(client: Client, seen: Observed, action: Action): Promise<Observed> {
  const { namespace = "" } = seen.sandbox.metadata;
  switch (action.do) {
    case "create-pod":
      return { ...seen, pod: await client.create(pods, action.pod, { fieldManager: "sandbox-controller" }) };
    case "delete-pod": {
      const { name, uid } = action;
      await client.delete(pods, { namespace, name }, { preconditions: { uid } }).catch(gone);
      return seen;
    }
    default:
      return action satisfies never;
  }
}

/** Guarded by the version that was decided on: a newer object deserves a newer decision. */
async function writeStatus(client: Client, sandbox: Sandbox, status: SandboxStatus | undefined): Promise<void> {
  if (status === undefined || semanticEqual(sandbox.status, status, ["status"])) return;
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = sandbox.metadata;
  const change = mergePatch(sandbox.status ?? {}, status);
  if (change === undefined) return;
  const patch = { type: "merge", body: { status: change }, preconditions: { uid, resourceVersion } } as const;
  await client.patch(sandboxes, { namespace, name }, patch, { subresource: "status" }).catch(gone);
}

/** What is gone already needs no deleting and no status. */
function gone(error: unknown): void {
  if (!isReason(error, "NotFound")) throw error;
}
