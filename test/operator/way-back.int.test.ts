import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { runCli } from "./run-cli.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const home = "agent-sandbox-system";
const manager = "agent-sandbox-controller";

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
beforeAll(async () => {
  kubernetes = owned.use(await startKubernetes());
}, 300_000);
afterAll(() => owned.disposeAsync());
afterEach(async () => {
  await kubectl(["delete", "namespace", home]);
  await kubectl(["delete", "clusterroles,clusterrolebindings,priorityclasses", "-l", ofProduct]);
  await kubectl(["delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-l", ofProduct]);
});

const ofProduct = "app.kubernetes.io/part-of=agent-sandbox";

async function kubectl(words: readonly string[], stdin = ""): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words, { stdin });
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
  return stdout;
}

const files = ["-f", join(deploy, "manifest.yaml"), "-f", join(deploy, "extensions.yaml")];

/** Plain manifests of another implementation with the same names: no probes, no limits and no securityContext. */
function theirs(container: string): string {
  const labels = { app: manager };
  const settings = { name: "settings", configMap: { name: "agent-sandbox-config", optional: true } };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: manager, namespace: home, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: manager,
          containers: [
            {
              name: container,
              image: "registry.example.com/theirs:v1",
              args: ["--leader-elect=true", "--extensions"],
              ports: [
                { name: "metrics", containerPort: 8080 },
                { name: "healthz", containerPort: 8081 },
                { name: "webhook", containerPort: 9443 },
              ],
              volumeMounts: [{ name: "settings", mountPath: "/etc/sandbox-config", readOnly: true }],
            },
          ],
          volumes: [settings],
        },
      },
    },
  };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: home } };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: manager, namespace: home } };
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: [namespace, account, deployment] });
}

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly command?: readonly string[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly securityContext?: { readonly readOnlyRootFilesystem?: boolean };
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object }[];
}

interface Observed {
  readonly containers: readonly string[];
  readonly args: readonly string[] | undefined;
  /** Whether the program can write its certificate. */
  readonly canWrite: boolean;
  readonly spec: PodSpec;
}

/** The Deployment as it is now. Throws if its Pods would not be admitted. */
async function observe(): Promise<Observed> {
  const deployment = JSON.parse(await kubectl(["get", "deployment", "-n", home, manager, "-o", "json"])) as {
    spec: { template: { metadata: object; spec: PodSpec } };
  };
  const { metadata, spec } = deployment.spec.template;
  const pod = { apiVersion: "v1", kind: "Pod", spec, metadata: { ...metadata, name: "theirs", namespace: home } };
  await kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
  const [first] = spec.containers;
  const mounted = first?.volumeMounts?.find(({ mountPath, readOnly }) => mountPath === "/tmp" && readOnly !== true);
  const hasFolder = spec.volumes?.some(({ name, emptyDir }) => name === mounted?.name && emptyDir !== undefined);
  return {
    containers: spec.containers.map(({ name }) => name),
    args: [...(first?.command ?? []), ...(first?.args ?? [])],
    canWrite: first?.securityContext?.readOnlyRootFilesystem !== true || hasFolder === true,
    spec,
  };
}

/** Only their container, with their arguments, which can write its certificate. */
const started = (container: string): object => ({
  containers: [container],
  args: ["--leader-elect=true", "--extensions"],
  canWrite: true,
});

const install = async (): Promise<void> => {
  const ran = await runCli(["install", "--no-wait", "--kubeconfig", kubernetes.admin.kubeconfig]);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
};
/** The Deployment of the second file replaces that of the first. */
const applied = () => kubectl(["apply", ...files]);
const appliedByServer = () => kubectl(["apply", "--server-side", ...files]);

/** Whether kubectl knows which of our fields to remove: server-side apply leaves no annotation about that. */
const ways: [string, () => Promise<unknown>, { readonly isClean: boolean }][] = [
  ["agent-sandbox install", install, { isClean: true }],
  ["kubectl apply", applied, { isClean: true }],
  ["kubectl apply --server-side", appliedByServer, { isClean: false }],
];

test.for(ways)(
  "another implementation starts after its manifests replaced ours, installed by %s",
  async ([, ours, { isClean }]) => {
    await ours();
    await kubectl(["apply", "-f", "-"], theirs(manager));
    const observed = await observe();
    expect(observed).toMatchObject(started(manager));
    if (!isClean) return;
    expect(Object.keys(observed.spec)).not.toContain("priorityClassName");
    expect(Object.keys(observed.spec.containers[0] ?? {})).not.toContain("startupProbe");
    expect(observed.spec.containers[0]?.securityContext).toBeUndefined();
  },
);

test.for(ways.filter(([, , { isClean }]) => isClean))(
  "a container of another name does not run beside ours, installed by %s",
  async ([, ours]) => {
    await ours();
    await kubectl(["apply", "-f", "-"], theirs("theirs"));
    expect(await observe()).toMatchObject(started("theirs"));
  },
);

test.for(ways)(
  "another implementation starts in our namespace after our Deployment was deleted, installed by %s",
  async ([, ours]) => {
    await ours();
    await kubectl(["delete", "deployment", "-n", home, manager]);
    await kubectl(["apply", "-f", "-"], theirs("theirs"));
    expect(await observe()).toMatchObject(started("theirs"));
  },
);

test("server-side apply of the files changes an installation of the command line without conflicts", async () => {
  await install();
  expect(await appliedByServer()).toContain(`deployment.apps/${manager} serverside-applied`);
});

test("the way back also works over an installation that replaced theirs", async () => {
  await kubectl(["apply", "-f", "-"], theirs("theirs"));
  const upgraded = await runCli(["upgrade", "--no-wait", "--kubeconfig", kubernetes.admin.kubeconfig]);
  expect(upgraded).toMatchObject({ code: 0, stderr: "" });
  await kubectl(["apply", "-f", "-"], theirs("theirs"));
  expect(await observe()).toMatchObject(started("theirs"));
});
