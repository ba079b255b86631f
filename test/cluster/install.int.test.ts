import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { ensureHelm, Helm } from "../clients/helm-command.ts";
import { runCli } from "../operator/run-cli.ts";
import { kubectl, tryKubectl } from "./kubectl.ts";
import { sandbox } from "./manifests.ts";
import { Namespace } from "./namespace.ts";
import { systemNamespace, untilInstalled } from "./product.ts";
import { usesExisting } from "./settings.ts";

const cluster = inject("cluster");
const chart = join(import.meta.dirname, "../../deploy/chart");
const reason = cluster.missing ?? (usesExisting ? "the installation of this cluster is not ours to change" : undefined);
if (usesExisting) console.warn(`skipped: ${reason}`);

/** The suite was installed with kubectl. Each test replaces the installation by another; a Sandbox runs all the time. */
describe.skipIf(reason !== undefined)("an installation", { timeout: 400_000 }, () => {
  let namespace: Namespace;
  let uid: string;
  let helmPath: string;
  // Its first build takes minutes.
  beforeAll(async () => {
    helmPath = await ensureHelm();
  }, 900_000);
  beforeAll(async () => {
    namespace = await Namespace.create(cluster, "install");
    await namespace.apply(sandbox("steady"));
    await namespace.wait("sandbox/steady", "condition=Ready");
    uid = await namespace.field("pod/steady", "{.metadata.uid}");
  });
  afterAll(() => namespace?.[Symbol.asyncDispose]());

  const run = (...words: string[]) => runCli([...words, "--kubeconfig", cluster.kubeconfig]);

  /** The Pod is the same, it is still reconciled, and the webhook converts. */
  async function expectWorking(name: string): Promise<void> {
    await untilInstalled(cluster);
    expect(await namespace.field("pod/steady", "{.metadata.uid} {.status.phase}")).toBe(`${uid} Running`);
    await namespace.apply(sandbox(name));
    await namespace.wait(`sandbox/${name}`, "condition=Ready");
    expect(await namespace.field("sandboxes.v1alpha1.agents.x-k8s.io/steady", "{.apiVersion}")).toBe(
      "agents.x-k8s.io/v1alpha1",
    );
  }

  test("by kubectl is taken over by agent-sandbox upgrade", async () => {
    await expectWorking("by-kubectl");
    const upgraded = await run("upgrade");
    expect(upgraded).toMatchObject({ code: 0, stderr: "" });
    await expectWorking("after-upgrade");
  });

  test("is removed while its objects are kept, and replaced by the Helm chart", async () => {
    expect(await run("uninstall")).toMatchObject({ code: 1, stderr: expect.stringContaining("--keep-objects") });
    expect(await run("uninstall", "--keep-objects")).toMatchObject({ code: 0, stderr: "" });
    expect(await namespace.field("pod/steady", "{.metadata.uid} {.status.phase}")).toBe(`${uid} Running`);
    using helm = new Helm(helmPath, cluster.kubeconfig);
    const wait = ["--wait", "--timeout", "240s"];
    await helm.run("install", "agent-sandbox", chart, "--set", "controller.extensions=true", ...wait);
    await expectWorking("by-helm");
    await helm.run("uninstall", "agent-sandbox", "--wait", "--timeout", "60s");
    expect((await tryKubectl(cluster, ["get", "namespace", systemNamespace])).code).toBe(1);
  });

  test("by agent-sandbox install is complete when the command ends", async () => {
    expect(await run("install")).toMatchObject({ code: 0, stderr: "" });
    const ready = ["get", "deployments", "-n", systemNamespace, "-o", "jsonpath={.items[*].status.readyReplicas}"];
    expect(await kubectl(cluster, ready)).toMatch(/^2 [12]$/);
    await expectWorking("by-install");
  });
});
