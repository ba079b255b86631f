import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeKubeconfig } from "@agent-sandbox/apiserver";
import { parse } from "yaml";
import { Box } from "../e2e/box.ts";

const namespace = "team";
const pool = "python-pool";

/** What a user gets from an administrator: a namespace with a pool, and an account with the role `edit` in it. */
const items = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "user", namespace } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "user-edits", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "user", namespace }],
  },
  {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxTemplate",
    metadata: { name: "python", namespace },
    spec: {
      runtime: "Injected",
      envVarsInjectionPolicy: "Allowed",
      podTemplate: {
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }],
        },
      },
    },
  },
  {
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: { name: pool, namespace },
    spec: { replicas: 2, sandboxTemplateRef: { name: "python" } },
  },
];

/** A box with its default settings, and the environment of a program that uses it as that user. */
export class ReferenceBox implements AsyncDisposable {
  readonly box: Box;
  readonly environment: Readonly<Record<string, string>>;

  private constructor(box: Box, environment: Readonly<Record<string, string>>) {
    this.box = box;
    this.environment = environment;
  }

  static async start(): Promise<ReferenceBox> {
    await using starting = new AsyncDisposableStack();
    const box = starting.use(await Box.make());
    for (const run of [() => box.up(), () => box.runWith(list(), "apply", "-f", "-")]) {
      const { code, stderr } = await run();
      if (code !== 0) throw new Error(`Cannot prepare the box: ${stderr}`);
    }
    const token = kubectl(box, "create", "token", "user", "--namespace", namespace);
    const kubeconfig = join(box.dataDir, "user-kubeconfig");
    writeKubeconfig(kubeconfig, { ...clusterOf(box), credentials: { token } });
    const { routerUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    starting.move();
    return new ReferenceBox(box, {
      KUBECONFIG: kubeconfig,
      SANDBOX_NAMESPACE: namespace,
      SANDBOX_POOL: pool,
      ROUTER_ADDRESS: new URL(routerUrl).host,
      ROUTER_TOKEN: token,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box[Symbol.asyncDispose]();
  }
}

const list = (): string => JSON.stringify({ apiVersion: "v1", kind: "List", items });

function kubectl({ kubeconfig }: Box, ...words: string[]): string {
  return execFileSync("kubectl", words, { env: { ...process.env, KUBECONFIG: kubeconfig }, encoding: "utf8" }).trim();
}

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; "certificate-authority-data": string } }[];
}

function clusterOf({ kubeconfig }: Box): { server: string; authority: string } {
  const { clusters } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const [first] = clusters;
  if (first === undefined) throw new Error(`Cannot read "${kubeconfig}": it names no cluster`);
  const { server, "certificate-authority-data": authority } = first.cluster;
  return { server, authority: Buffer.from(authority, "base64").toString("utf8") };
}
