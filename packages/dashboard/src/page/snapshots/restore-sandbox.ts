import { activityChange, findCondition, type Sandbox } from "@agent-sandbox/api";
import type { ApiClient } from "../data/api-client.ts";
import { sandboxes } from "../data/resources.ts";

interface Wanted {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly snapshot: string;
}

/** A suspension saves memory, which can take a while. */
const patienceMs = 120_000;
const everyMs = 500;

/**
 * Suspends a sandbox and resumes it from a snapshot. A suspension without `restoreFrom` makes the controller forget an earlier restore of
 * the same snapshot. Writes change only the object that was read first.
 */
export async function restoreSandbox(
  api: ApiClient,
  { namespace, name, snapshot }: Wanted,
  onStep: (text: string) => void,
): Promise<void> {
  const place = { namespace, name };
  onStep("Suspending the sandbox.");
  const { uid } = (await api.get(sandboxes, place)).metadata;
  const own = { metadata: { uid } };
  await api.patch(sandboxes, place, { ...own, spec: { operatingMode: "Suspended", restoreFrom: null } });
  const asleep = await until(api, place, isSuspended);
  onStep("Starting the sandbox from the snapshot.");
  const { metadata } = activityChange(asleep, Date.now()).body;
  await api.patch(sandboxes, place, {
    metadata: { ...metadata, uid },
    spec: { operatingMode: "Running", restoreFrom: { snapshotRef: { name: snapshot } } },
  });
}

export function isSuspended({ status }: Sandbox): boolean {
  return findCondition(status?.conditions, "Suspended")?.status === "True";
}

async function until(
  api: ApiClient,
  place: { readonly namespace: string | undefined; readonly name: string },
  isDone: (sandbox: Sandbox) => boolean,
): Promise<Sandbox> {
  const endAt = Date.now() + patienceMs;
  for (;;) {
    const sandbox = await api.get(sandboxes, place);
    if (isDone(sandbox)) return sandbox;
    if (Date.now() > endAt) throw new Error("the sandbox was not suspended within two minutes; it is still suspending");
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
