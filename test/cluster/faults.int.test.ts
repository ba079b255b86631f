import { X509Certificate } from "node:crypto";
import { afterAll, afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { claimsDuring, complete, summary } from "./claims-during.ts";
import { convertedKinds, expiredCertificate } from "./expired-certificate.ts";
import { kubectl } from "./kubectl.ts";
import { podTemplate, sandbox } from "./manifests.ts";
import { Namespace } from "./namespace.ts";
import { runOnNode, signalService } from "./node/node-process.ts";
import { kubeconfig } from "./node/settings.ts";
import { systemNamespace, untilInstalled } from "./product.ts";
import { manager } from "./stop-manager.ts";

const cluster = inject("cluster");
const isOurs = cluster.kubeconfig === kubeconfig;
const reason = cluster.missing ?? (isOurs ? undefined : "the suite only breaks a cluster that make cluster-up started");
if (!isOurs) console.warn(`skipped: ${reason}`);

const lease = "a3317529.agent-sandbox.x-k8s.io";
const podOf = (holder: string): string => holder.split(/[_ ]/)[0] ?? "";

/** CLUSTER=long: all faults, with more claims during each. */
const isLong = process.env["CLUSTER"] === "long";
const count = isLong ? 40 : 4;
/** Few enough that kubelet restarts each container without a long pause. */
const kills = isLong ? 6 : 2;
const timeout = isLong ? 900_000 : 240_000;
const killed = isLong ? ["kube-apiserver", "etcd", "kubelet", "containerd"] : ["kube-apiserver", "kubelet"];

describe.skipIf(reason !== undefined)("claims while something fails", { timeout }, () => {
  let namespace: Namespace;
  beforeEach(async () => {
    namespace = await Namespace.create(cluster, "faults");
  });
  afterEach(() => namespace?.[Symbol.asyncDispose]());
  afterAll(() => untilInstalled(cluster));

  const system = (...words: string[]): Promise<string> => kubectl(cluster, ["-n", systemNamespace, ...words]);
  /** Who holds the manager's lease, and since when. */
  const acquisition = (): Promise<string> =>
    system("get", "lease", lease, "-o", "jsonpath={.spec.holderIdentity} {.spec.acquireTime}");
  /** The Pod that holds the manager's lease. */
  const leader = async (): Promise<string> => podOf(await acquisition());
  /** Fails unless a manager runs in the Pod. */
  const signalPod = async (pod: string, signal: "KILL" | "STOP" | "CONT"): Promise<void> => {
    const uid = await system("get", "pod", pod, "-o", "jsonpath={.metadata.uid}");
    // Only the manager itself: the pause process keeps the Pod.
    const script = `found=1; for pid in $(pgrep -f 'main.mjs manager'); do grep -q "pod$1" /proc/$pid/cgroup && kill -$2 $pid && found=0; done; exit $found`;
    await runOnNode("sh", "-c", script, "sh", uid, signal);
  };
  test("the leading manager is killed again and again (MANAGER-11)", async () => {
    // A container that was killed keeps the name of its Pod, and its next process has another identity.
    const led = new Set<string>();
    const killing = async (): Promise<void> => {
      for (let kill = 0; kill < kills; kill++) {
        const holder = await namespace.until(acquisition, (seen) => !led.has(seen) && !seen.startsWith(" "));
        led.add(holder);
        await signalPod(podOf(holder), "KILL");
      }
    };
    expect(summary(await claimsDuring(namespace, count, killing))).toEqual(complete(count));
    expect(led.size).toBe(kills);
  });

  test.skipIf(!isLong)("the leading manager is stopped, replaced and continued (MANAGER-19)", async () => {
    const paused = async (): Promise<void> => {
      const old = await leader();
      await signalPod(old, "STOP");
      try {
        await namespace.until(leader, (pod) => pod !== old && pod !== "");
      } finally {
        await signalPod(old, "CONT");
      }
    };
    expect(summary(await claimsDuring(namespace, count, paused))).toEqual(complete(count));
  });

  test.for(killed)("%s is killed", async (service) => {
    const aftermath = await claimsDuring(namespace, count, () => signalService(service, "KILL"));
    expect(summary(aftermath)).toEqual(complete(count));
  });

  test("an expired webhook certificate is replaced when the managers start again (MANAGER-4)", async () => {
    await namespace.apply(sandbox("converted", { operatingMode: "Suspended" }));
    const asAlpha = () => namespace.try("get", "sandboxes.v1alpha1.agents.x-k8s.io", "converted", "-o", "name");
    expect(await asAlpha()).toMatchObject({ code: 0 });
    await system("scale", "deployment", manager, "--replicas=0");
    try {
      await system("wait", "pod", "-l", `app=${manager}`, "--for=delete", "--timeout=60s");
      const { secret, caBundle } = expiredCertificate(systemNamespace);
      const data = JSON.stringify({ data: secret });
      await system("patch", "secret", "agent-sandbox-webhook-certs", "--type=merge", "-p", data);
      const webhook = { clientConfig: { caBundle } };
      const trust = JSON.stringify({ spec: { conversion: { webhook } } });
      for (const crd of convertedKinds) await system("patch", "crd", crd, "--type=merge", "-p", trust);
    } finally {
      await system("scale", "deployment", manager, "--replicas=2");
    }
    expect(await namespace.until(asAlpha, ({ code }) => code === 0)).toMatchObject({ code: 0 });
    const stored = await system("get", "secret", "agent-sandbox-webhook-certs", "-o", "jsonpath={.data.tls\\.crt}");
    const { validTo } = new X509Certificate(Buffer.from(stored, "base64"));
    expect(Date.parse(validTo)).toBeGreaterThan(Date.now());
    await untilInstalled(cluster);
  });

  test("the node is drained: Sandboxes start again with their files", async () => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const mounted = { volumeMounts: [{ name: "data", mountPath: "/data" }] };
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec }];
    await namespace.apply(sandbox("drained", { podTemplate: podTemplate(undefined, mounted), volumeClaimTemplates }));
    await namespace.wait("sandbox/drained", "condition=Ready");
    await namespace.exec("drained", "echo kept > /data/file");
    const before = await namespace.field("pod/drained", "{.metadata.uid}");
    const node = await namespace.field("pod/drained", "{.spec.nodeName}");
    const ours = "--pod-selector=agents.x-k8s.io/sandbox-name-hash";
    try {
      await kubectl(cluster, [
        "drain",
        node,
        ours,
        "--force",
        "--delete-emptydir-data",
        "--ignore-daemonsets",
        "--timeout=60s",
      ]);
    } finally {
      await kubectl(cluster, ["uncordon", node]);
    }
    const uid = async (): Promise<string> =>
      (await namespace.try("get", "pod", "drained", "-o", "jsonpath={.metadata.uid}")).stdout;
    await namespace.until(uid, (seen) => seen !== "" && seen !== before);
    await namespace.wait("sandbox/drained", "condition=Ready");
    expect(await namespace.exec("drained", "cat /data/file")).toBe("kept\n");
  });
});
