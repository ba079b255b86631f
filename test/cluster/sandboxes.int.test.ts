import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { podTemplate, sandbox } from "./manifests.ts";
import { Namespace } from "./namespace.ts";

const cluster = inject("cluster");

describe.skipIf(cluster.missing !== undefined).concurrent("Sandboxes on a real node", { timeout: 300_000 }, () => {
  let namespace: Namespace;
  beforeAll(async () => {
    namespace = await Namespace.create(cluster, "sandboxes");
  });
  afterAll(() => namespace?.[Symbol.asyncDispose]());

  const suspend = (name: string, mode: "Running" | "Suspended"): Promise<string> =>
    namespace.kubectl(
      "patch",
      "sandbox",
      name,
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { operatingMode: mode } }),
    );

  test("files on a volume survive suspend and resume in a new Pod (SLEEP-1, SLEEP-3, VOLUME-1)", async () => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await namespace.apply(
      sandbox("files", {
        podTemplate: podTemplate(undefined, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec }],
      }),
    );
    await namespace.wait("sandbox/files", "condition=Ready");
    const firstPod = await namespace.field("pod/files", "{.metadata.uid}");
    await namespace.exec("files", "echo kept > /data/file; echo lost > /tmp/file");
    await suspend("files", "Suspended");
    await namespace.wait("sandbox/files", "condition=Suspended");
    expect(await namespace.kubectl("get", "pods", "files", "--ignore-not-found")).toBe("");
    await suspend("files", "Running");
    await namespace.wait("sandbox/files", "condition=Ready");
    expect(await namespace.exec("files", "cat /data/file; ls /tmp")).toBe("kept\n");
    expect(await namespace.field("pod/files", "{.metadata.uid}")).not.toBe(firstPod);
    await namespace.kubectl("delete", "sandbox", "files");
    await namespace.wait("pvc/data-files", "delete");
  });

  test("another Pod reaches it by its host name, also after it was suspended (SERVICE-1, SLEEP-2)", async () => {
    await namespace.apply(
      sandbox("server", {
        service: true,
        podTemplate: podTemplate("mkdir -p /tmp/www; hostname > /tmp/www/index.html; httpd -f -p 8000 -h /tmp/www", {
          ports: [{ containerPort: 8000, name: "http" }],
        }),
      }),
      sandbox("client"),
    );
    await namespace.wait("sandbox/server", "condition=Ready");
    await namespace.wait("sandbox/client", "condition=Ready");
    const fqdn = await namespace.field("sandbox/server", "{.status.serviceFQDN}");
    expect(fqdn).toBe(`server.${namespace.name}.svc.cluster.local`);
    const fetched = async (): Promise<string> =>
      (
        await namespace.try(
          "exec",
          "client",
          "--",
          "sh",
          "-c",
          `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${fqdn} 8000`,
        )
      ).stdout;
    const isPage = (response: string): boolean => response.endsWith("\nserver\n");
    await namespace.until(fetched, isPage);
    const firstAddress = await namespace.field("pod/server", "{.status.podIP}");
    await suspend("server", "Suspended");
    await namespace.wait("sandbox/server", "condition=Suspended");
    await suspend("server", "Running");
    await namespace.wait("sandbox/server", "condition=Ready");
    await namespace.until(fetched, isPage);
    expect(await namespace.field("pod/server", "{.status.podIP}")).not.toBe(firstAddress);
  });

  test("runs under gVisor by its runtime class", async () => {
    await namespace.apply(
      sandbox("isolated", { podTemplate: podTemplate(undefined, {}, { runtimeClassName: "gvisor" }) }),
    );
    await namespace.wait("sandbox/isolated", "condition=Ready");
    expect(await namespace.kubectl("exec", "isolated", "--", "dmesg")).toContain("Starting gVisor");
  });

  test("a command that ends finishes the Sandbox, and its exit code is readable (RECOVER-1)", async () => {
    const ends = podTemplate("sleep 1", { command: ["sh", "-c", "exit 3"] }, { restartPolicy: "Never" });
    await namespace.apply(sandbox("ends", { podTemplate: ends }));
    await namespace.wait("sandbox/ends", "condition=Finished");
    const code = "{.status.containerStatuses[0].state.terminated.exitCode}";
    expect(await namespace.field("pod/ends", code)).toBe("3");
  });

  test("expires by each policy (EXPIRE-1, EXPIRE-3, EXPIRE-5)", async () => {
    await namespace.apply(sandbox("retained"), sandbox("deleted"));
    await namespace.wait("sandbox/retained", "condition=Ready");
    await namespace.wait("sandbox/deleted", "condition=Ready");
    const shutdownTime = new Date(Date.now() + 1500).toISOString();
    const end = (name: string, shutdownPolicy: string): Promise<string> =>
      namespace.kubectl(
        "patch",
        "sandbox",
        name,
        "--type=merge",
        "-p",
        JSON.stringify({ spec: { shutdownTime, shutdownPolicy } }),
      );
    await end("retained", "Retain");
    await end("deleted", "Delete");
    await namespace.wait("sandbox/deleted", "delete");
    await namespace.wait("pod/retained", "delete");
    await namespace.wait("pod/deleted", "delete");
    const reason = '{.status.conditions[?(@.type=="Ready")].reason}';
    expect(await namespace.field("sandbox/retained", reason)).toBe("SandboxExpired");
  });

  test("v1alpha1 is converted by the manager's webhook in both directions (API-5, API-6)", async () => {
    const alpha = { ...sandbox("old", { replicas: 0 }), apiVersion: "agents.x-k8s.io/v1alpha1" };
    await namespace.apply(alpha);
    expect(await namespace.field("sandboxes.v1beta1.agents.x-k8s.io/old", "{.spec.operatingMode}")).toBe("Suspended");
    await namespace.kubectl(
      "patch",
      "sandboxes.v1alpha1.agents.x-k8s.io",
      "old",
      "--type=merge",
      "-p",
      '{"spec":{"replicas":1}}',
    );
    await namespace.wait("sandbox/old", "condition=Ready");
    expect(await namespace.field("sandboxes.v1alpha1.agents.x-k8s.io/old", "{.status.replicas}")).toBe("1");
    expect(await namespace.field("sandboxes.v1beta1.agents.x-k8s.io/old", "{.spec.operatingMode}")).toBe("Running");
  });
});
