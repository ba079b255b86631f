import { activityChange, type Sandbox } from "@agent-sandbox/api";
import type { ApiClient } from "../../data/api-client.ts";
import { sandboxes } from "../../data/resources.ts";

/** Asks for a sandbox to be suspended or resumed. Recorded activity wakes one that was idle. A newer one of the same name is not changed. */
export async function setMode(api: ApiClient, sandbox: Sandbox, what: "suspend" | "resume"): Promise<void> {
  const { namespace, name = "", uid } = sandbox.metadata;
  const { metadata } = what === "resume" ? activityChange(sandbox, Date.now()).body : { metadata: {} };
  const operatingMode = what === "resume" ? "Running" : "Suspended";
  await api.patch(sandboxes, { namespace, name }, { metadata: { ...metadata, uid }, spec: { operatingMode } });
}
