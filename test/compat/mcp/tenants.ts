import type { CompatBox } from "../compat-box.ts";

/** A template whose sandboxes keep their memory while they are paused, and a second user of the namespace. */
const items = [
  {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name: "plain", namespace: "team-a" },
    spec: {
      runtime: "Injected",
      envVarsInjectionPolicy: "Allowed",
      suspendPolicy: { depth: "Memory" },
      podTemplate: {
        spec: { containers: [{ name: "main", image: "host", env: [{ name: "SANDBOXD_ROOT_DIR", value: "/" }] }] },
      },
    },
  },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "colleague", namespace: "team-a" } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "colleague-edits", namespace: "team-a" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "colleague", namespace: "team-a" }],
  },
];

export async function addTenants({ box }: CompatBox): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stderr } = await box.runWith(list, "apply", "-f", "-");
  if (code !== 0) throw new Error(`Cannot prepare the box: ${stderr}`);
}
