import { setTimeout as sleep } from "node:timers/promises";
import { type DashboardBox, type Wanted } from "./dashboard-box.ts";
import { asPython, escapes, hostileLine, hostileText, longWord, visibleMarkup } from "./hostile-content.ts";
import { terminalAttack } from "./terminal-attack.ts";

/** The tenant's namespace, where the role `edit` was granted. */
export const namespace = "mallory";
/** Runs, prints escape sequences without end, and has files with hostile names. */
export const loud = "loud";
const agents = "agents.x-k8s.io/v1beta1";
const extensions = "extensions.agents.x-k8s.io/v1beta1";

const annotations = {
  "example.com/note": hostileText,
  "example.com/long": longWord,
  "agents.x-k8s.io/sandbox-template-ref": hostileText,
  "agents.x-k8s.io/last-activity": hostileText,
  "agents.x-k8s.io/pod-name": "../../../../api/v1/secrets",
};
const env = [
  // The kernel has no variables with this character.
  { name: "HOSTILE", value: hostileText.replaceAll("\u0000", "") },
  { name: "LONG", value: longWord },
];

/** Writes files whose names are markup, then prints escape sequences every second. */
const program = `
import os, sys, time
os.makedirs("/workspace/folder", exist_ok=True)
for name in [${asPython(hostileLine.replaceAll("/", "∕").slice(0, 180))}, "\\x1b]0;title\\x07\\r\\n", "\\u202etxt.exe", "W" * 250, "--help", "a\\nb", "C:\\\\x"]:
    with open(os.path.join("/workspace", name), "w") as file: file.write(${asPython(hostileText)})
with open("/workspace/page.html", "w") as file: file.write("<script>top.__pwned = 1; document.title = 'pwned'</script>")
with open("/workspace/image.svg", "w") as file: file.write("<svg xmlns='http://www.w3.org/2000/svg' onload='window.__pwned = 1'/>")
with open("/workspace/attack.py", "w") as file: file.write(${asPython(terminalAttack)})
while True:
    sys.stdout.buffer.write(${asPython(`${escapes}\n${hostileText}\n`)}.encode() + b"\\xff\\xfe\\x80 not UTF-8\\n" + b"L" * 20000 + b"\\n")
    sys.stdout.flush()
    time.sleep(1)
`;

const container = { name: "main", image: "host", env, command: ["python3", "-c", program] };

function sandbox(name: string, spec: object, more: object = {}): Wanted {
  const metadata = { name, namespace, annotations, labels: { app: name } };
  return {
    apiVersion: agents,
    kind: "Sandbox",
    metadata,
    spec: { podTemplate: { metadata: { annotations }, spec }, ...more },
  };
}

/** What the tenant itself creates. */
const ownObjects: readonly Wanted[] = [
  sandbox(loud, { containers: [container] }, { runtime: "Injected" }),
  sandbox("no-image", { containers: [{ name: "main", image: hostileLine.replaceAll(/\s/g, "_") }] }),
  sandbox("w".repeat(63), { containers: [{ name: "main", image: longWord }] }),
  sandbox("ended", {
    restartPolicy: "Never",
    containers: [
      {
        name: "main",
        image: "host",
        command: ["python3", "-c", `open("/dev/termination-log", "w").write(${asPython(hostileText)}); exit(3)`],
      },
    ],
  }),
  sandbox("not-ready", {
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sleep", "infinity"],
        readinessProbe: {
          periodSeconds: 1,
          exec: { command: ["python3", "-c", `print(${asPython(hostileText)}); exit(1)`] },
        },
      },
    ],
  }),
  {
    apiVersion: extensions,
    kind: "SandboxTemplate",
    metadata: { name: "template", namespace, annotations },
    spec: {
      podTemplate: {
        metadata: { annotations },
        spec: { containers: [{ ...container, command: ["sleep", "infinity"] }] },
      },
    },
  },
  {
    apiVersion: extensions,
    kind: "SandboxWarmPool",
    metadata: { name: "pool", namespace, annotations },
    spec: { replicas: 1, sandboxTemplateRef: { name: "template" } },
  },
  {
    apiVersion: extensions,
    kind: "SandboxClaim",
    metadata: { name: "claim", namespace, annotations },
    spec: { warmPoolRef: { name: "no-pool" } },
  },
  {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: { name: "snapshot", namespace, annotations },
    spec: { sandboxRef: { name: "w".repeat(63) } },
  },
];

/** Events of every kind of object. In a cluster, tenants may be allowed to write them. */
function event(index: number, kind: string, name: string): Wanted {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `event-${index}`, namespace, annotations },
    involvedObject: { kind, name, namespace, apiVersion: hostileLine, fieldPath: hostileLine, uid: hostileLine },
    type: index % 2 === 0 ? "Warning" : hostileLine,
    reason: index % 3 === 0 ? longWord.slice(0, 500) : hostileLine,
    message: hostileText,
    action: hostileLine,
    reportingComponent: hostileLine,
    reportingInstance: hostileLine,
    source: { component: hostileLine, host: hostileLine },
    count: 2_000_000_000,
    firstTimestamp: "1970-01-01T00:00:00Z",
    lastTimestamp: "9999-12-31T23:59:59Z",
  };
}

const eventsOf: readonly (readonly [kind: string, name: string])[] = [
  ["Sandbox", loud],
  ["Pod", loud],
  ["SandboxTemplate", "template"],
  ["SandboxWarmPool", "pool"],
  ["SandboxClaim", "claim"],
  ["SandboxSnapshot", "snapshot"],
  ["Sandbox", hostileLine],
  ["Pod", "../../events?q="],
  ["__proto__", "constructor"],
  ["constructor", "javascript:window.__pwned=1"],
];

const machineReport = JSON.stringify({
  checkedAt: "9999-12-31T23:59:59Z",
  checks: [
    { name: hostileLine, state: "lacking", detail: hostileLine, remedy: hostileLine },
    { name: longWord, state: "ok", detail: longWord },
  ],
  runtimes: [{ name: visibleMarkup, use: "default", depth: "Memory" }],
  amounts: { diskBytes: { used: 9_007_199_254_740_991, most: 1 } },
});

/** What a foreign image, registry or node can make the API server store: only administrators write these objects. */
const node: Wanted = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "elsewhere", annotations: { ...annotations, "agents.x-k8s.io/machine-report": machineReport } },
  spec: { unschedulable: true },
};
const nodeStatus = {
  images: [{ names: [hostileLine, longWord], sizeBytes: 9_007_199_254_740_991 }],
  conditions: [
    { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: hostileText },
    { type: hostileLine, status: "True", reason: hostileLine, message: hostileText },
  ],
  nodeInfo: Object.fromEntries(
    [
      "machineID",
      "systemUUID",
      "bootID",
      "kernelVersion",
      "osImage",
      "containerRuntimeVersion",
      "kubeletVersion",
      "kubeProxyVersion",
      "operatingSystem",
      "architecture",
    ].map((field) => [field, hostileLine]),
  ),
};

/** Fills a box with objects of a hostile tenant. Returns the tenant's token. */
export async function makeHostile(box: DashboardBox): Promise<string> {
  const token = await box.account(namespace, "edit");
  const list = JSON.stringify({ kind: "List", apiVersion: "v1", items: ownObjects });
  box.kubectlWith(list, `--as=system:serviceaccount:${namespace}:user`, "create", "-f", "-");
  await box.apply(node, ...eventsOf.map(([kind, name], index) => event(index, kind, name)));
  const status = JSON.stringify({ status: nodeStatus });
  box.kubectl("patch", "node", "elsewhere", "--subresource=status", "--type=merge", "-p", status);
  await box.run("wait", `sandbox/${loud}`, "-n", namespace, "--for=condition=Ready", "--timeout=90s");
  // The probe and the program that ends have reported what they printed.
  while (!box.kubectl("get", "events", "-n", namespace).includes("Unhealthy")) await sleep(200);
  return token;
}
