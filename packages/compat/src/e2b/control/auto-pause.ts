import { runSecondsAnnotation, type Sandbox, type SandboxClaim, suspendAtAnnotation } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { patchClaim, patchSandbox } from "../../cluster/lifetime.ts";
import type { CreateOptions } from "./create-options.ts";

/** Lets the deadline of a new sandbox suspend it instead of deleting it. */
export async function armPause(
  client: Client,
  sandbox: Sandbox,
  claim: SandboxClaim,
  { timeoutSeconds, keepMemory, lifetime }: CreateOptions,
): Promise<void> {
  const annotations = {
    [suspendAtAnnotation]: claim.spec.lifecycle?.shutdownTime,
    [runSecondsAnnotation]: String(timeoutSeconds),
  };
  const spec = {
    resumePolicy: lifetime.autoResume ? "OnTraffic" : "Manual",
    suspendPolicy: { depth: keepMemory ? "Memory" : "Filesystem", fallback: "Allow" },
  };
  await patchSandbox(client, sandbox, { metadata: { annotations }, spec });
  await patchClaim(client, claim, { spec: { lifecycle: { shutdownTime: null } } });
}
