import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { installation } from "../../packages/cli/src/operator/installation.ts";
import { forServer } from "../../packages/cli/src/operator/manifest.ts";
import { defaultSettings } from "../../packages/cli/src/operator/settings.ts";
import { extensionUserRoles, userRoles } from "../../packages/cli/src/operator/user-roles.ts";
import { parseFlags } from "../../packages/controllers/src/manager/parse-flags.ts";
import { alertRules } from "../../scripts/operator/alerts.ts";
import { version } from "../../scripts/version.ts";
import { ensureHelm, Helm } from "../clients/helm-command.ts";
import { Unavailable } from "../clients/unavailable.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { runCli } from "./run-cli.ts";

const chart = join(import.meta.dirname, "../../deploy/chart");
const home = "agent-sandbox-system";
/** The first run on a machine compiles Helm. */
const firstRunMs = 40 * 60_000;

const owned = new AsyncDisposableStack();
let kubernetes: Kubernetes;
let helm: Helm;
let missing: string | undefined;
beforeAll(async () => {
  const file = await ensureHelm().catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error;
    missing = error.message;
    return "helm";
  });
  kubernetes = owned.use(await startKubernetes());
  helm = owned.use(new Helm(file, kubernetes.admin.kubeconfig));
}, firstRunMs);
afterAll(() => owned.disposeAsync());
beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

type Rendered = { kind: string; metadata: { name: string; namespace?: string } } & Record<string, unknown>;

async function render(...words: string[]): Promise<Rendered[]> {
  const text = await helm.run("template", "release", chart, ...words);
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

/** Labels and selectors differ: those of a chart name its release. */
function comparable(object: object): unknown {
  return JSON.parse(
    JSON.stringify(object, (key, value: unknown) =>
      ["labels", "matchLabels", "selector", "description"].includes(key) ? undefined : value,
    ),
  );
}

const named = ({ kind, metadata }: Rendered): string => `${kind}/${metadata.name}`;
const find = (objects: readonly Rendered[], name: string): Rendered => {
  const found = objects.find((object) => named(object) === name);
  if (found === undefined) throw new Error(`the chart renders no ${name}`);
  return found;
};

interface Deployment {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly args: string[]; readonly image: string }[] };
    };
  };
}
const deploymentIn = (objects: readonly Rendered[], name = "agent-sandbox-controller"): Deployment =>
  find(objects, `Deployment/${name}`) as unknown as Deployment;
const argsIn = (objects: readonly Rendered[]): string[] =>
  deploymentIn(objects).spec.template.spec.containers[0]?.args ?? [];

describe("the rendered chart", () => {
  test("passes helm lint", async () => {
    expect(await helm.run("lint", "--strict", chart)).toContain("0 chart(s) failed");
  });

  test("has the objects of the manifests, except for labels", async () => {
    const rendered = await render("--set", "controller.extensions=true");
    const parts = { router: true, runtime: true };
    const ours = installation(defaultSettings, parts)
      .filter(({ kind }) => kind !== "CustomResourceDefinition")
      .map((object) => forServer(object) as Rendered);
    expect(rendered.map(named).sort()).toEqual([...ours.map(named), "Secret/sandbox-router-keys"].sort());
    for (const object of ours.filter(({ kind }) => kind !== "Deployment")) {
      expect(comparable(find(rendered, named(object)))).toEqual(comparable(object));
    }
    for (const name of ["agent-sandbox-controller", "sandbox-router"]) {
      const [chartPod, ourPod] = [deploymentIn(rendered, name), deploymentIn(ours, name)].map(({ spec }) => {
        const { containers, ...pod } = spec.template.spec;
        const [{ args, ...container } = { args: [] }] = containers;
        const flags = name === "sandbox-router" ? args : parseFlags(args);
        return { replicas: spec.replicas, pod: comparable(pod), container: comparable(container), flags };
      });
      expect(chartPod).toEqual(ourPod);
    }
  });

  test("adds its kinds to the default roles of users, unless it must not", async () => {
    const rendered = await render("--set", "controller.extensions=true");
    for (const { metadata } of [...userRoles(), ...extensionUserRoles()]) {
      const labels = Object.entries(metadata.labels).filter(([key]) => key.startsWith("rbac.authorization.k8s.io/"));
      expect(labels).toHaveLength(1);
      const role = find(rendered, `ClusterRole/${metadata.name}`);
      expect(role).toMatchObject({ metadata: { labels: Object.fromEntries(labels) } });
    }
    const aggregated = (objects: readonly Rendered[]): string[] =>
      objects
        .map(named)
        .filter((name) => /-(view|edit)$/.test(name))
        .sort();
    expect(aggregated(await render())).toEqual(["ClusterRole/agent-sandbox-edit", "ClusterRole/agent-sandbox-view"]);
    expect(aggregated(await render("--set", "rbac.aggregateToDefaultRoles=false"))).toEqual([]);
  });

  test("selects Pods as the chart of the reference does, and never those of the router", async () => {
    const rendered = await render();
    const { matchLabels } = deploymentIn(rendered).spec.selector;
    expect(matchLabels).toEqual({ "app.kubernetes.io/name": "agent-sandbox", "app.kubernetes.io/instance": "release" });
    expect(deploymentIn(rendered).spec.template.metadata.labels).toMatchObject(matchLabels);
    const router = deploymentIn(rendered, "sandbox-router").spec.template.metadata.labels;
    // Default NetworkPolicies of templates admit this label.
    expect(router).toMatchObject({ app: "sandbox-router" });
    expect(Object.entries(matchLabels).every(([key, value]) => router[key] === value)).toBe(false);
  });

  test("turns the values of the reference into flags", async () => {
    const values = ["kubeApiQps=1000000", "kubeApiBurst=20", "enableTracing=true", "clusterDomain=my.net"].concat(
      ["leaderElect=false", "sandboxWarmPoolReadinessGracePeriod=7m", "sandboxConcurrentWorkers=200"],
      ["extraArgs={--watch-namespaces=a\\,b}"],
    );
    const args = argsIn(await render(...values.flatMap((value) => ["--set", `controller.${value}`])));
    expect(args).toEqual(
      expect.arrayContaining([
        "--kube-api-qps=1000000",
        "--kube-api-burst=20",
        "--enable-tracing=true",
        "--cluster-domain=my.net",
        "--leader-elect=false",
        "--sandbox-warm-pool-readiness-grace-period=7m",
        "--sandbox-concurrent-workers=200",
        "--extensions=false",
        `--webhook-namespace=${home}`,
      ]),
    );
    expect(args.at(-1)).toBe("--watch-namespaces=a,b");
    expect(args.filter((arg) => arg.includes("pprof"))).toEqual([]);
    expect(parseFlags(args)).not.toHaveProperty("error");
  });

  test("renders the optional parts", async () => {
    const without = await render("--set", "router.enabled=false,networkPolicy.enabled=false,namespace.create=false");
    expect(without.map(({ kind }) => kind)).not.toContain("NetworkPolicy");
    expect(without.map(({ kind }) => kind)).not.toContain("Namespace");
    expect(without.map(named)).not.toContain("Deployment/sandbox-router");
    const fixed = await render(
      "--set",
      "router.autoscaling.enabled=false,router.replicaCount=3,router.keysSecret=mine",
    );
    expect(deploymentIn(fixed, "sandbox-router").spec.replicas).toBe(3);
    expect(fixed.map(named)).not.toContain("Secret/sandbox-router-keys");
    const scraped = await render("--set", "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus");
    for (const [name, metrics, open] of [
      ["agent-sandbox-controller", 8080, [8081, 9443]],
      ["sandbox-router", 9090, [8080, 8081]],
    ] as const) {
      const tcp = (port: number): object => ({ protocol: "TCP", port });
      expect(find(scraped, `NetworkPolicy/${name}`)).toMatchObject({
        spec: {
          ingress: [
            { from: [{ podSelector: { matchLabels: { app: "prometheus" } } }], ports: [tcp(metrics)] },
            { ports: open.map(tcp) },
          ],
        },
      });
    }
    const noRuntime = await render("--set", "runtime.enabled=false");
    expect(argsIn(noRuntime)).toContain("--runtime-image=");
    expect(noRuntime.map(named)).not.toContain("ClusterRole/sandbox-router-runtime");
    const image = deploymentIn(await render("--set", "image.repository=r.example/x,image.tag=v9"));
    expect(image.spec.template.spec.containers[0]?.image).toBe("r.example/x:v9");
    const enabled = "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true";
    const monitoring = await render(
      "--set",
      enabled,
      "--set",
      "metrics.serviceMonitor.additionalLabels.release=prometheus",
    );
    expect(find(monitoring, "ServiceMonitor/sandbox-router")).toMatchObject({
      metadata: { labels: { release: "prometheus" } },
      // The alerts and the Grafana dashboard select by our own label "namespace".
      spec: { endpoints: [{ honorLabels: true }] },
    });
    const rule = find(monitoring, "PrometheusRule/agent-sandbox") as unknown as {
      spec: { groups: { rules: object[] }[] };
    };
    expect(rule.spec.groups[0]?.rules).toEqual(alertRules);
  });

  test.each([
    ["unknown.value=1", "unknown"],
    ["controller.kubeApiBurst=0", "kubeApiBurst"],
    ["controller.extensions=perhaps", "extensions"],
    ["image.pullPolicy=Sometimes", "pullPolicy"],
    ["namespace.name=UPPER", "name"],
    ["replicaCount=0", "replicaCount"],
    ["networkPolicy.metricsFrom=everybody", "metricsFrom"],
    ["router.service.type=ExternalName", "type"],
    ["rbac.aggregateToDefaultRoles=perhaps", "aggregateToDefaultRoles"],
  ])("refuses %s", async (value, field) => {
    const { code, stderr } = await helm.try("template", "release", chart, "--set", value);
    expect(code).not.toBe(0);
    expect(stderr).toContain(field);
  });
});

describe("the chart on a real API server", () => {
  const kubectl = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubernetes.kubectl(words);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const key = (): Promise<string> =>
    kubectl("get", "secret", "-n", home, "sandbox-router-keys", "-o", "jsonpath={.data.key}");

  test("is installed, upgraded and uninstalled by Helm, and agent-sandbox does not touch it", async () => {
    await helm.run("install", "mine", chart, "--set", "controller.extensions=true");
    expect(await kubectl("get", "crds", "-o", "name")).toContain("sandboxclaims.extensions.agents.x-k8s.io");
    const first = await key();
    expect(Buffer.from(first, "base64")).toHaveLength(64);
    await helm.run("upgrade", "mine", chart, "--set", "replicaCount=3");
    expect(await key()).toBe(first);
    const shown = await kubectl(
      "get",
      "deployment",
      "-n",
      home,
      "agent-sandbox-controller",
      "-o",
      "jsonpath={.spec.replicas} {.metadata.labels}",
    );
    expect(shown).toContain("3 ");
    expect(shown).toContain(`"app.kubernetes.io/version":"${version}"`);
    expect(await kubectl("get", "clusterroles", "-o", "name")).not.toContain("agent-sandbox-controller-extensions");
    for (const words of [["install", "--no-wait"], ["upgrade", "--no-wait"], ["uninstall"]]) {
      expect(await runCli([...words, "--kubeconfig", kubernetes.admin.kubeconfig])).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining('Helm release "mine"'),
      });
    }
    await helm.run("uninstall", "mine");
    expect(await kubectl("get", "crds", "-o", "name")).toContain("sandboxes.agents.x-k8s.io");
    expect(await kubectl("get", "clusterroles", "-o", "name")).not.toContain("agent-sandbox");
  }, 180_000);
});

test("the chart has the version of the product", () => {
  const facts = parseAllDocuments(readFileSync(join(chart, "Chart.yaml"), "utf8"))[0]?.toJS() as object;
  expect(facts).toMatchObject({ version, appVersion: version });
});
