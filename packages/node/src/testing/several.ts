import type { Container, PodSpec } from "@agent-sandbox/api";

const idle = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", 'trap "exit 0" TERM; sleep 1000 & wait'],
  ...more,
});

/** A Pod that starts in many steps: an init container, a sidecar, a hook, volumes, shared namespaces. */
export const severalContainers: Partial<PodSpec> = {
  volumes: [
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
  ],
  initContainers: [{ name: "first", image: "host", command: ["true"] }, idle("side", { restartPolicy: "Always" })],
  containers: [
    idle("main", {
      lifecycle: { postStart: { exec: { command: ["true"] } } },
      volumeMounts: [
        { name: "memory", mountPath: "/memory", subPath: "deep" },
        { name: "about", mountPath: "/about" },
      ],
    }),
    idle("other"),
  ],
};
