/** Fills a box as a team would: sandboxes in several states, templates, pools, claims and snapshots. */
import { connect } from "@agent-sandbox/sdk";
import type { DashboardBox, Wanted } from "../../dashboard/dashboard-box.ts";
import { imageArchives } from "../../examples/image-archives.ts";
import { failingReport, orderWorker, projectFiles, shopServer } from "./demo-programs.ts";

const agents = "agents.x-k8s.io/v1beta1";
const extensions = "extensions.agents.x-k8s.io/v1beta1";
const namespace = "default";

const workspace = "localhost/workspace:bookworm";
const codeInterpreter = "localhost/code-interpreter:bookworm";

interface Program {
  readonly command?: readonly string[];
  readonly memory?: string;
  readonly image?: string;
  readonly port?: number;
}

function podSpec({ command = ["sleep", "infinity"], memory = "256Mi", image = workspace, port }: Program): {
  readonly spec: object;
} {
  const container = {
    name: "main",
    image,
    // No picture should depend on whether this machine reaches a registry.
    imagePullPolicy: "Never",
    command,
    resources: { limits: { cpu: "1", memory }, requests: { cpu: "10m", memory: "16Mi" } },
    ...(port !== undefined && { ports: [{ name: "http", containerPort: port }] }),
  };
  return { spec: { runtimeClassName: "gvisor", containers: [container] } };
}

interface Shape extends Program {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

function sandbox(name: string, { labels = {}, spec = {}, ...program }: Shape = {}): Wanted {
  return {
    apiVersion: agents,
    kind: "Sandbox",
    metadata: { name, namespace, labels },
    spec: { runtime: "Injected", podTemplate: podSpec(program), ...spec },
  };
}

const python = (program: string): readonly string[] => ["python3", "-c", program];

const sandboxes: readonly Wanted[] = [
  sandbox("web-checkout", {
    command: python(shopServer),
    port: 8000,
    labels: { app: "checkout", team: "shop" },
    spec: { idlePolicy: { suspendAfterSeconds: 7200 } },
  }),
  sandbox("web-search", { labels: { app: "search", team: "shop" } }),
  sandbox("docs-preview", { command: ["python3", "-m", "http.server", "8090"], port: 8090, labels: { team: "docs" } }),
  sandbox("notebook-ines", { image: codeInterpreter, labels: { team: "research" }, memory: "512Mi" }),
  sandbox("notebook-tomas", { image: codeInterpreter, labels: { team: "research" }, memory: "512Mi" }),
  sandbox("sql-playground", { labels: { team: "data" } }),
  sandbox("load-test", { labels: { team: "shop" } }),
  sandbox("build-cache", { labels: { team: "platform" } }),
  sandbox("nightly-report", {
    command: python(failingReport),
    labels: { team: "data" },
    spec: { podTemplate: { spec: { restartPolicy: "Never", ...podSpec({ command: python(failingReport) }).spec } } },
  }),
  sandbox("preview-pr-184", { image: "localhost/shop-web:pr-184", labels: { team: "shop" } }),
  sandbox("train-large", { memory: "900Gi", labels: { team: "research" } }),
];

const supplies: readonly Wanted[] = ["python-agent", "browser-agent"].flatMap((name) => [
  {
    apiVersion: extensions,
    kind: "SandboxTemplate",
    metadata: { name, namespace },
    spec: {
      runtime: "Injected",
      podTemplate: podSpec(name === "python-agent" ? { image: codeInterpreter } : { memory: "512Mi" }),
      idlePolicy: { suspendAfterSeconds: 900 },
    },
  },
  {
    apiVersion: extensions,
    kind: "SandboxWarmPool",
    metadata: { name: `${name}s`, namespace },
    spec: { replicas: name === "python-agent" ? 3 : 1, sandboxTemplateRef: { name } },
  },
]);

const claims: readonly Wanted[] = ["agent-4f2", "agent-7c1", "agent-b90"].map((name) => ({
  apiVersion: extensions,
  kind: "SandboxClaim",
  metadata: { name, namespace },
  spec: { warmPoolRef: { name: "python-agents" } },
}));

const sleeping = ["web-search", "notebook-tomas", "sql-playground", "load-test"];
const failing = ["nightly-report", "preview-pr-184", "train-large"];

export async function fillBox(box: DashboardBox): Promise<void> {
  for (const archive of imageArchives()) await box.run("image", "load", archive);
  await box.apply(...supplies);
  await box.apply(...sandboxes.map((one) => withoutRequests(one)));
  const running = sandboxes.map(({ metadata }) => metadata.name).filter((name) => !failing.includes(name));
  for (const name of running) await box.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=180s");
  await box.apply(...claims);
  for (const { metadata } of claims) {
    await box.run("wait", `sandboxclaim/${metadata.name}`, "--for=condition=Ready", "--timeout=180s");
  }
  await box.runWith(projectFiles, "exec", "-i", "web-checkout", "--", "python3", "-");
  await startWorker(box);
  await box.run("snapshot", "create", "web-checkout", "before-migration");
  await box.run("snapshot", "create", "notebook-ines", "dataset-loaded");
  for (const name of sleeping) await box.run("suspend", name);
}

/** The API server reserves nothing for a sandbox whose request is not met anyway. */
function withoutRequests(one: Wanted): Wanted {
  if (one.metadata.name !== "train-large") return one;
  const text = JSON.stringify(one).replace('"memory":"16Mi"', '"memory":"800Gi"');
  return JSON.parse(text) as Wanted;
}

/** A process of the runtime API, as an agent starts it. */
async function startWorker(box: DashboardBox): Promise<void> {
  using client = await connect({ dataDir: box.box.dataDir });
  const { commands, files } = client.handle("web-checkout", { namespace });
  await files.write("export_orders.py", orderWorker);
  const worker = await commands.start(["python3", "export_orders.py"], { keepRunningMs: Number.POSITIVE_INFINITY });
  await worker.disconnect();
  await commands.run(["sh", "-c", "ls src | wc -l"]);
  await commands.run(["wc", "-l", "data/orders.csv"]);
}
