import { CoreV1Api, CustomObjectsApi, KubeConfig, RbacAuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ensureHelm, Helm } from "./helm-command.ts";
import { startServer, type TestServer } from "./start-server.ts";
import { Unavailable } from "./unavailable.ts";

/** The first run on a machine compiles Helm. */
const firstRunMs = 40 * 60_000;
const chart = `${import.meta.dirname}/helm/chart`;

let server: TestServer;
let helm: Helm;
let missing: string | undefined;
const config = new KubeConfig();

beforeAll(async () => {
  server = await startServer();
  config.loadFromFile(server.kubeconfig);
  const file = await ensureHelm().catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    missing = error.message;
    console.log(`Helm: skipped, ${missing}`);
    return "helm";
  });
  helm = new Helm(file, server.kubeconfig);
}, firstRunMs);
afterAll(async () => {
  helm[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

/** The parts of the release that depend on a value of the chart, and Helm's revision. */
async function installed(namespace: string): Promise<object> {
  const core = config.makeApiClient(CoreV1Api);
  const name = "desk";
  const [map, secret, account, role, sandbox] = await Promise.all([
    core.readNamespacedConfigMap({ namespace, name }),
    core.readNamespacedSecret({ namespace, name }),
    core.readNamespacedServiceAccount({ namespace, name }),
    config.makeApiClient(RbacAuthorizationV1Api).readNamespacedRole({ namespace, name }),
    config.makeApiClient(CustomObjectsApi).getNamespacedCustomObject({
      group: "agents.x-k8s.io",
      version: "v1beta1",
      plural: "sandboxes",
      namespace,
      name,
    }),
  ]);
  const { spec } = sandbox as { spec: { podTemplate: { spec: { containers: { image: string }[] } } } };
  return {
    data: map.data,
    secret: Buffer.from(secret.data?.["greeting"] ?? "", "base64").toString(),
    managedBy: account.metadata?.labels?.["app.kubernetes.io/managed-by"],
    rules: role.rules?.length,
    image: spec.podTemplate.spec.containers[0]?.image,
  };
}

const wanted = (revision: number, greeting: string, image: string, more: object = {}) => ({
  data: { greeting, revision: String(revision), sandboxes: "served", ...more },
  secret: greeting,
  managedBy: "Helm",
  rules: 1,
  image,
});

describe.each([
  ["with client-side apply", "--server-side=false", "helm-client"],
  ["with server-side apply", "--server-side=true", "helm-server"],
])("Helm, %s", (_, side, namespace) => {
  const here = ["-n", namespace];

  test("installs, reports status and uninstalls", async () => {
    await helm.run("install", "desk", chart, ...here, "--create-namespace", side, "--wait");
    expect(await installed(namespace)).toEqual(wanted(1, "hello", "busybox:1"));
    expect(await helm.json("list", ...here)).toMatchObject([{ name: "desk", revision: "1", status: "deployed" }]);
    expect(await helm.json("status", "desk", ...here)).toMatchObject({ name: "desk", info: { status: "deployed" } });
    const manifest = await helm.run("get", "manifest", "desk", ...here);
    const kinds = [...manifest.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind);
    expect(kinds).toEqual(["ServiceAccount", "Secret", "ConfigMap", "Role", "RoleBinding", "Sandbox"]);

    const again = await helm.try("install", "desk", chart, ...here, side);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot reuse a name") });

    await helm.run("uninstall", "desk", ...here, "--wait");
    await expect(installed(namespace)).rejects.toMatchObject({ code: 404 });
    expect(await helm.json("list", ...here, "--all-namespaces")).toEqual([]);
  });

  test("upgrades and rolls back without changing fields of others", async () => {
    await helm.run("install", "desk", chart, ...here, "--create-namespace", side);
    await config.makeApiClient(CoreV1Api).patchNamespacedConfigMap({
      namespace,
      name: "desk",
      body: [{ op: "add", path: "/data/theirs", value: "kept" }],
    });
    const values = ["--set", "greeting=ciao", "--set", "image=busybox:2"];
    await helm.run("upgrade", "desk", chart, ...here, side, "--wait", ...values);
    const theirs = { theirs: "kept" };
    expect(await installed(namespace)).toEqual(wanted(2, "ciao", "busybox:2", theirs));
    await helm.run("rollback", "desk", "1", ...here, side, "--wait");
    expect(await installed(namespace)).toEqual(wanted(1, "hello", "busybox:1", theirs));
    const history = await helm.json("history", "desk", ...here);
    expect(history).toMatchObject([
      { revision: 1, status: "superseded" },
      { revision: 2, status: "superseded" },
      { revision: 3, status: "deployed", description: "Rollback to 1" },
    ]);
    await helm.run("uninstall", "desk", ...here);
  });

  test("reports the invalid field of a bad chart and can continue afterwards", async () => {
    await helm.run("install", "desk", chart, ...here, "--create-namespace", side);
    const bad = await helm.try("upgrade", "desk", chart, ...here, side, "--set", "operatingMode=Sideways");
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining("spec.operatingMode") });
    expect(await helm.json("status", "desk", ...here)).toMatchObject({ info: { status: "failed" } });
    await helm.run("upgrade", "desk", chart, ...here, side, "--set", "greeting=ciao");
    expect(await installed(namespace)).toEqual(wanted(3, "ciao", "busybox:1"));
    await helm.run("uninstall", "desk", ...here);
  });
});
