import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import type { CreateOptions } from "./create-options.ts";
import { escaped } from "./sandbox-json.ts";

interface Place {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deadline: Date | undefined;
}

/** Limits reserve nothing, as in Docker, unless the client requests it. Kubernetes would reserve as much as the limit. */
const noRequests = { cpu: "0", memory: "0" };

/** The Sandbox for an image. The daemon in it runs the entrypoint, and everything that clients start. */
export function imageSandbox(options: CreateOptions, place: Place): Sandbox {
  const { name, namespace, image, labels, annotations, deadline } = place;
  const { environment, entrypoint, limits, requests, volumes, architecture } = options;
  const variables = { ...environment, SANDBOXD_ROOT_DIR: "/" };
  return {
    apiVersion: sandboxes.apiVersion as Sandbox["apiVersion"],
    kind: "Sandbox",
    metadata: { name, namespace, labels: { ...labels }, annotations: { ...annotations } },
    spec: {
      runtime: "Injected",
      resumePolicy: "Manual",
      suspendPolicy: { depth: "Memory", fallback: "Allow" },
      ...(deadline !== undefined && { shutdownTime: deadline.toISOString(), shutdownPolicy: "Delete" }),
      podTemplate: {
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          // An entrypoint that ends successfully ends the sandbox. One that was killed with the machine starts again.
          restartPolicy: "OnFailure",
          ...(architecture !== undefined && { nodeSelector: { "kubernetes.io/arch": architecture } }),
          containers: [
            {
              name: "main",
              image,
              command: entrypoint.map(escaped),
              env: Object.entries(variables).map(([key, value]) => ({ name: key, value: escaped(value) })),
              resources: { limits: { ...limits }, requests: { ...noRequests, ...requests } },
              ...(volumes.mounts.length > 0 && { volumeMounts: [...volumes.mounts] }),
            },
          ],
          ...(volumes.volumes.length > 0 && { volumes: [...volumes.volumes] }),
        },
      },
    },
  };
}
