import type { DashboardBox } from "./dashboard-box.ts";

const extensions = "extensions.agents.x-k8s.io/v1beta1";
const metadata = (name: string): { name: string; namespace: string } => ({ name, namespace: "default" });

/** What an administrator has prepared: a template with the runtime API, and a pool of it. gVisor keeps memory. */
export async function prepareSupply(box: DashboardBox): Promise<void> {
  const container = { name: "main", image: "host", command: ["sleep", "infinity"] };
  await box.apply(
    {
      apiVersion: extensions,
      kind: "SandboxTemplate",
      metadata: metadata("workshop"),
      spec: {
        runtime: "Injected",
        suspendPolicy: { depth: "Memory" },
        podTemplate: { spec: { runtimeClassName: "gvisor", containers: [container] } },
      },
    },
    {
      apiVersion: extensions,
      kind: "SandboxWarmPool",
      metadata: metadata("bench"),
      spec: { replicas: 0, sandboxTemplateRef: { name: "workshop" } },
    },
  );
}
