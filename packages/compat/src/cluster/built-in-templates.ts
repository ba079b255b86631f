import { type SandboxTemplate, sandboxTemplates } from "@agent-sandbox/api";

/**
 * The templates that clients name when their users name none. They are created in a namespace when they are first used there, and
 * belong to its users from then on.
 */
const builtIn: ReadonlySet<string> = new Set(["base", "code-interpreter-v1"]);

/** Undefined if there is no built-in template of that name. */
export function builtInTemplate(name: string, namespace: string): SandboxTemplate | undefined {
  if (!builtIn.has(name)) return undefined;
  const environment = { SANDBOXD_ROOT_DIR: "/", SANDBOXD_ENSURE_USER: "user" };
  return {
    apiVersion: sandboxTemplates.apiVersion as SandboxTemplate["apiVersion"],
    kind: "SandboxTemplate",
    metadata: { name, namespace },
    spec: {
      runtime: "Injected",
      // E2B keeps memory when it pauses a sandbox and takes snapshots of it.
      suspendPolicy: { depth: "Memory", fallback: "Allow" },
      podTemplate: {
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "main",
              image: "host",
              env: Object.entries(environment).map(([key, value]) => ({ name: key, value })),
            },
          ],
        },
      },
    },
  };
}
