import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { version } from "../../scripts/version.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { type Ran, runCli } from "./run-cli.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const home = "agent-sandbox-system";

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const parse = (text: string): Named[] => parseAllDocuments(text).map((document) => document.toJS() as Named);
const names = (objects: readonly Named[]): string[] =>
  objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort();

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
beforeAll(async () => {
  kubernetes = owned.use(await startKubernetes({ users: [{ name: "weak" }, { name: "writer" }] }));
}, 300_000);
afterAll(() => owned.disposeAsync());

async function kubectl(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words);
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

/** As the administrator unless a user is given. Nothing runs Pods here, so nothing waits for Deployments. */
function run(words: readonly string[], kubeconfig = kubernetes.admin.kubeconfig): Promise<Ran> {
  const noWait = words[0] === "uninstall" ? [] : ["--no-wait"];
  return runCli([...words, ...noWait, "--kubeconfig", kubeconfig]);
}

const ofProduct = "app.kubernetes.io/part-of=agent-sandbox";
const kinds =
  "deployments,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies,horizontalpodautoscalers";
const installedNow = async (): Promise<string[]> => {
  const cluster = await kubectl(
    "get",
    "clusterroles,clusterrolebindings,priorityclasses,validatingadmissionpolicies,validatingadmissionpolicybindings",
    "-l",
    ofProduct,
    "-o",
    "name",
  );
  const own = await kubectl("get", kinds, "-n", home, "-l", ofProduct, "-o", "name");
  return `${cluster}${own}`.trim().split("\n").filter(Boolean);
};
const container = (): Promise<string> =>
  kubectl(
    "get",
    "deployment",
    "-n",
    home,
    "agent-sandbox-controller",
    "-o",
    "jsonpath={.spec.template.spec.containers}",
  );

test("--dry-run prints what the manifests of deploy/ contain, without a cluster", async () => {
  const { code, stdout, stderr } = await runCli(["install", "--dry-run"], { KUBECONFIG: "/nothing" });
  expect([code, stderr]).toEqual([0, ""]);
  const read = (file: string): Named[] => parse(readFileSync(join(deploy, file), "utf8"));
  const crds = globSync("crds/*.yaml", { cwd: deploy }).flatMap(read);
  const wanted = [...crds, ...["manager.yaml", "router.yaml", "router-runtime-rbac.yaml"].flatMap(read)];
  const printed = parse(stdout);
  expect(names(printed)).toEqual(names(wanted));
  for (const object of wanted) expect(printed).toContainEqual(object);
});

test("manifest.yaml and extensions.yaml together are what Kustomize builds", async () => {
  const both = ["manifest.yaml", "extensions.yaml"].flatMap((file) => parse(readFileSync(join(deploy, file), "utf8")));
  // The Deployment of the second file replaces that of the first.
  const last = new Map(both.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
  const built = parse(await kubectl("kustomize", deploy));
  expect(names(built)).toEqual([...last.keys()].sort());
  for (const object of built) expect(last.get(`${object.kind}/${object.metadata.name}`)).toEqual(object);
});

test("invalid options exit with status 2", async () => {
  expect(await runCli(["install", "--replicas", "0"])).toMatchObject({ code: 2, stdout: "" });
});

describe("on a real API server", () => {
  test("a user without permissions learns which are missing, and nothing is changed", async () => {
    const { code, stdout, stderr } = await run(["install"], kubernetes.user("weak").kubeconfig);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /you may not get customresourcedefinitions.apiextensions.k8s.io, .* and \d+ more; use the credentials/,
    );
    expect(await installedNow()).toEqual([]);
  });

  test("a user who may write roles but not grant these permissions is refused before anything is changed", async () => {
    const rule = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "create", "patch"] };
    const meta = { metadata: { name: "writer" }, apiVersion: "rbac.authorization.k8s.io/v1" };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "writer" }];
    const items = [
      { ...meta, kind: "ClusterRole", rules: [rule] },
      { ...meta, kind: "ClusterRoleBinding", roleRef, subjects },
    ];
    const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    expect(await kubernetes.kubectl(["create", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await run(["install"], kubernetes.user("writer").kubeconfig);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /the server refuses ClusterRole "agent-sandbox-controller": .*attempting to grant RBAC permissions/s,
    );
    expect(stderr).toContain("nothing was changed");
    expect(await installedNow()).toEqual([]);
    expect(await kubectl("get", "crds", "-o", "name")).toBe("");
  });

  test("upgrade and uninstall say that nothing is installed", async () => {
    expect(await run(["upgrade"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('use "agent-sandbox install"'),
    });
    expect(await run(["uninstall"])).toMatchObject({ code: 0, stdout: "Agent Sandbox is uninstalled\n" });
  });

  test("installs everything, and the second time changes nothing", async () => {
    const first = await run(["install", "--registry", "registry.example.com:5000/team"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toContain("customresourcedefinition.apiextensions.k8s.io/sandboxes.agents.x-k8s.io created\n");
    expect(first.stdout).toContain(`Agent Sandbox ${version} is installed`);
    expect(await container()).toContain(`registry.example.com:5000/team/agent-sandbox:${version}`);
    const key = await kubectl("get", "secret", "-n", home, "sandbox-router-keys", "-o", "jsonpath={.data.key}");
    expect(Buffer.from(key, "base64")).toHaveLength(64);
    const second = await run(["install", "--registry", "registry.example.com:5000/team"]);
    const lines = second.stdout.trim().split("\n");
    expect(lines.filter((line) => line.endsWith(" created") || line.endsWith(" configured"))).toEqual([]);
    expect(await kubectl("get", "secret", "-n", home, "sandbox-router-keys", "-o", "jsonpath={.data.key}")).toBe(key);
    expect(await run(["install", "--timeout", "1s", "--wait"])).toMatchObject({ code: 1 });
  }, 120_000);

  test("the Pods of the Deployments meet the Pod Security Standard restricted", async () => {
    const enforced = "pod-security.kubernetes.io/enforce";
    await kubectl("label", "namespace", home, `${enforced}=restricted`);
    for (const name of ["agent-sandbox-controller", "sandbox-router"]) {
      const deployment = JSON.parse(await kubectl("get", "deployment", "-n", home, name, "-o", "json")) as {
        spec: { template: { metadata: object; spec: object } };
      };
      const { spec, metadata } = deployment.spec.template;
      const pod = { apiVersion: "v1", kind: "Pod", spec, metadata: { ...metadata, name, namespace: home } };
      const stdin = JSON.stringify(pod);
      const { code, stderr } = await kubernetes.kubectl(["create", "--dry-run=server", "-f", "-"], { stdin });
      expect([code, stderr]).toEqual([0, ""]);
      const loose = JSON.stringify({ ...pod, spec: { ...spec, hostNetwork: true } });
      const refused = await kubernetes.kubectl(["create", "--dry-run=server", "-f", "-"], { stdin: loose });
      expect(refused.stderr).toContain("violates PodSecurity");
    }
    await kubectl("label", "namespace", home, `${enforced}-`);
  });

  test("a user who may create Pods elsewhere cannot give them our priority", async () => {
    const create = (namespace: string, priorityClassName?: string) => {
      const spec = { containers: [{ name: "c", image: "i" }], ...(priorityClassName && { priorityClassName }) };
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "high-", namespace }, spec };
      return kubernetes.kubectl(["create", "--dry-run=server", "-f", "-"], { stdin: JSON.stringify(pod) });
    };
    const ours = "agent-sandbox-critical";
    // The API server reads policies a moment after they were written.
    const message = `the PriorityClass "${ours}" is only for the namespace "${home}"`;
    await expect.poll(async () => (await create("default", ours)).stderr).toContain(message);
    expect(await create("default")).toMatchObject({ code: 0 });
    expect(await create("default", "system-cluster-critical")).toMatchObject({ code: 0 });
    expect(await create(home, ours)).toMatchObject({ code: 0 });
  });

  test("upgrade removes what the options leave out, and an older program refuses", async () => {
    expect((await installedNow()).join()).toContain("sandbox-router");
    const upgraded = await run(["upgrade", "--no-router"]);
    expect(upgraded).toMatchObject({ code: 0, stderr: "" });
    expect(upgraded.stdout).toContain("deployment.apps/sandbox-router deleted\n");
    expect(upgraded.stdout).toContain(`Agent Sandbox ${version} replaces version ${version}`);
    expect((await installedNow()).join()).not.toContain("sandbox-router");
    await kubectl(
      "label",
      "deployment",
      "-n",
      home,
      "agent-sandbox-controller",
      "--overwrite",
      "app.kubernetes.io/version=99.0.0",
    );
    for (const command of ["install", "upgrade"]) {
      expect(await run([command])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("version 99.0.0 is installed, which is newer"),
      });
    }
  }, 120_000);

  test("uninstall refuses while there are sandboxes, keeps them or deletes them", async () => {
    const sandbox = {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: "mine", namespace: "default" },
      spec: { podTemplate: { spec: { containers: [{ name: "c", image: "i" }] } } },
    };
    expect(await kubernetes.kubectl(["create", "-f", "-"], { stdin: JSON.stringify(sandbox) })).toMatchObject({
      code: 0,
    });
    expect(await run(["uninstall"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining(
        "Cannot uninstall: there are 1 Sandbox in default; keep them with --keep-objects",
      ),
    });
    expect(await run(["uninstall", "--keep-objects", "--delete-objects"])).toMatchObject({ code: 2 });
    expect(await installedNow()).not.toEqual([]);
    const shown = await run(["uninstall", "--delete-objects", "--dry-run"]);
    expect(shown.stdout).toContain("sandbox.agents.x-k8s.io/mine in default would be deleted\n");
    expect(await run(["uninstall", "--keep-objects"])).toMatchObject({ code: 0, stderr: "" });
    expect(await installedNow()).toEqual([]);
    expect(await kubectl("get", "sandbox", "mine", "-o", "name")).toBe("sandbox.agents.x-k8s.io/mine\n");
    expect(await run(["install"])).toMatchObject({ code: 0 });
    expect(await run(["uninstall", "--delete-objects"])).toMatchObject({ code: 0, stderr: "" });
    expect(await installedNow()).toEqual([]);
    expect(await kubectl("get", "crds,namespaces", "-o", "name")).not.toMatch(/agent-?s?/);
  }, 240_000);

  test("takes over the Deployment of the reference, and names what it cannot take over", async () => {
    await kubectl("create", "namespace", home);
    const deployment = (labels: object, selector: object) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "agent-sandbox-controller", namespace: home, labels },
      spec: {
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: { containers: [{ name: "theirs", image: "theirs:v1", args: ["--extensions"] }] },
        },
      },
    });
    const app = { app: "agent-sandbox-controller" };
    const release = { "app.kubernetes.io/name": "agent-sandbox", "app.kubernetes.io/instance": "mine" };
    const helm = { ...release, "app.kubernetes.io/managed-by": "Helm" };
    for (const [labels, selector, message] of [
      [helm, release, 'belongs to the Helm release "<release>"'],
      [release, release, "selects other labels"],
    ] as const) {
      const stdin = JSON.stringify(deployment(labels, selector));
      expect(await kubernetes.kubectl(["create", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
      expect(await run(["install"])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
      await kubectl("delete", "deployment", "-n", home, "agent-sandbox-controller");
    }
    const stdin = JSON.stringify(deployment(app, app));
    expect(await kubernetes.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
    const swapped = await run(["upgrade"]);
    expect(swapped).toMatchObject({ code: 0, stderr: "" });
    expect(swapped.stdout).toContain(`Agent Sandbox ${version} replaces another implementation`);
    const containers = JSON.parse(await container()) as { name: string; args: string[] }[];
    expect(containers.map(({ name }) => name)).toEqual(["agent-sandbox-controller"]);
    expect(containers[0]?.args).toContain("--extensions");
  }, 240_000);

  test("waits for nothing that is being deleted", async () => {
    await kubectl(
      "patch",
      "namespace",
      home,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":["test.example/held"]}}',
    );
    await kubectl("delete", "namespace", home, "--wait=false");
    const refused = await run(["install"]);
    await kubectl("patch", "namespace", home, "--type=merge", "-p", '{"metadata":{"finalizers":null}}');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("is being deleted; run this again") });
  });
});
