import type { ReferenceBox } from "./reference-box.ts";

/** A sandbox with the account of the box's user, which a policy lets reach the API server. */
const manifest = (namespace: string): object => ({
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "agents", namespace },
      spec: {
        podSelector: { matchLabels: { role: "agent" } },
        policyTypes: ["Egress"],
        egress: [{ to: [{ ipBlock: { cidr: "10.96.0.1/32" } }], ports: [{ port: 443 }] }],
      },
    },
    {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: "agent", namespace },
      spec: {
        podTemplate: {
          metadata: { labels: { role: "agent" } },
          spec: {
            serviceAccountName: "user",
            automountServiceAccountToken: true,
            terminationGracePeriodSeconds: 1,
            containers: [{ name: "main", image: "host", command: ["sleep", "infinity"] }],
          },
        },
      },
    },
  ],
});

/** What the published client does in its default mode, with the programs of the image `host`. */
const program = (pool: string): string => `
import json, subprocess, urllib.request
claim = {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim", "metadata": {"name": "child"}, "spec": {"warmPoolRef": {"name": "${pool}"}}}
subprocess.run(["kubectl", "create", "-f", "-"], input=json.dumps(claim).encode(), check=True, stdout=subprocess.DEVNULL)
subprocess.run(["kubectl", "wait", "--for=condition=Ready", "sandboxclaim/child", "--timeout=60s"], check=True, stdout=subprocess.DEVNULL)
forward = subprocess.Popen(["kubectl", "port-forward", "svc/sandbox-router-svc", "8080", "-n", "agent-sandbox-system"], stdout=subprocess.PIPE)
forward.stdout.readline()
namespace = open("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read()
headers = {"X-Sandbox-ID": "child", "X-Sandbox-Namespace": namespace, "Content-Type": "application/json"}
request = urllib.request.Request("http://127.0.0.1:8080/execute", json.dumps({"command": "echo made by an agent"}).encode(), headers)
print(json.loads(urllib.request.urlopen(request, timeout=30).read())["stdout"], end="")
forward.kill()
subprocess.run(["kubectl", "delete", "sandboxclaim", "child"], check=True, stdout=subprocess.DEVNULL)
`;

/** Starts a sandbox in which a program creates another sandbox and runs a command in it. Returns what the command printed. */
export async function runAgent({ box, environment }: ReferenceBox): Promise<string> {
  const { SANDBOX_NAMESPACE: namespace = "", SANDBOX_POOL: pool = "" } = environment;
  const run = async (stdin: string, ...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await box.runWith(stdin, ...words, "--namespace", namespace);
    if (code !== 0) throw new Error(`Cannot ${words[0]}: ${stdout}${stderr}`);
    return stdout;
  };
  await run(JSON.stringify(manifest(namespace)), "apply", "-f", "-");
  await run("", "wait", "sandbox/agent", "--for=condition=Ready", "--timeout=60s");
  const python = ["exec", "-i", "agent", "--namespace", namespace, "--", "python3", "-"];
  const { code, stdout, stderr } = await box.runWith(program(pool), ...python);
  if (code !== 0) throw new Error(`The agent failed: ${stdout}${stderr}`);
  return stdout;
}
