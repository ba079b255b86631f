import type { Pod, PodStatus } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { pods } from "../resources.ts";
import { isReported } from "./status.ts";

/** Writes the status of a Pod if it differs. Fails if the Pod was changed or replaced since it was read. */
export async function reportStatus(pod: Pod, status: PodStatus, client: Client): Promise<void> {
  if (isReported(pod, status)) return;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = pod.metadata ?? {};
  const patch = { type: "merge", body: { status }, preconditions: { uid, resourceVersion } } as const;
  await client.patch(pods, { namespace, name }, patch, { subresource: "status" });
}
