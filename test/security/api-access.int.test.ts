import type { KubeObject, Resource } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const policies: Resource<KubeObject & { spec: object }> = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};
const services: Resource<KubeObject & { spec: object }> = {
  apiVersion: "v1",
  kind: "Service",
  plural: "services",
  namespaced: true,
};

/** Prints the status of a GET with the Pod's own token, or why there was none. */
const program = `
import os, ssl, sys, urllib.request, urllib.error
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
url, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else open(folder + "/token").read()
try:
    context = ssl.create_default_context(cafile=folder + "/ca.crt")
    request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token} if token else {})
    print(urllib.request.urlopen(request, context=context, timeout=5).status)
except urllib.error.HTTPError as error:
    print(error.code)
except Exception as error:
    print("unreachable")
`;

/** Sandboxes that try to use the API server. */
describe.skipIf(noWorld)("code in a sandbox", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    const egress = [{ to: [{ ipBlock: { cidr: "10.96.0.1/32" } }], ports: [{ port: 443 }] }];
    const spec = { podSelector: { matchLabels: { api: "allowed" } }, policyTypes: ["Egress"], egress };
    await mallory.client.create(policies, { metadata: { namespace: mallory.namespace, name: "api" }, spec });
    const allowed = { labels: { api: "allowed" } };
    const asks = { automountServiceAccountToken: true };
    await Promise.all([
      mallory.runPod("both", { metadata: allowed, spec: asks }),
      mallory.runPod("no-policy", { spec: asks }),
      mallory.runPod("no-account", { metadata: allowed }),
    ]);
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const get = (pod: string, path: string, ...token: string[]): Promise<string> => {
    const words = [`https://10.96.0.1${path}`, ...token].map((word) => `'${word}'`).join(" ");
    return mallory.shell(pod, `python3 -c '${program.replaceAll("'", `'"'"'`)}' ${words}`);
  };
  const own = (path: string): string => `/api/v1/namespaces/${mallory.namespace}/${path}`;

  test("reaches the API server only if its Pod asks for the account and a policy allows it", async () => {
    expect(await get("both", "/version")).toBe("200");
    expect(await get("no-policy", "/version")).toBe("unreachable");
    const connect = "import socket; socket.create_connection(('10.96.0.1', 443), 3)";
    expect((await mallory.exec("no-account", `python3 -c "${connect}"`)).code).not.toBe(0);
    expect(await mallory.shell("no-account", "ls /var/run/secrets/kubernetes.io 2>&1; env | grep KUBERNETES")).toMatch(
      /No such file/,
    );
  });

  test("has the permissions of its account there, and nothing without a token", async () => {
    expect(await get("both", own("secrets"))).toBe("403");
    expect(await get("both", "/api/v1/namespaces/alice/secrets")).toBe("403");
    expect(await get("both", "/api/v1/nodes")).toBe("403");
    expect(await get("both", own("pods"), "")).toBe("401");
    expect(await get("both", own("pods"), "forged")).toBe("401");
    expect(await get("both", own("pods"), mallory.account.token)).toBe("200");
  });

  test("does not resolve the name of the API server unless it may reach it", async () => {
    const look = (pod: string): Promise<string> =>
      mallory.shell(pod, "getent hosts kubernetes.default.svc.cluster.local");
    expect(await look("both")).toContain("10.96.0.1");
    expect([await look("no-policy"), await look("no-account")]).toEqual(["", ""]);
  });

  test("reaches no other port of the machine in this way", async () => {
    const scan = `import socket
for port in (22, 53, 80, 443, 6443, 7680, ${world.box.routerPort}):
    for host in ("10.96.0.1", "127.0.0.1", "169.254.169.254"):
        if (host, port) == ("10.96.0.1", 443): continue
        try:
            socket.create_connection((host, port), 0.5); print(host, port)
        except OSError: pass`;
    expect(await mallory.shell("both", `python3 -c '${scan.replaceAll("'", `"`)}'`)).toBe("");
  });

  test("is cut off when the policy is deleted, and its token ends with the Pod", async () => {
    const token = await mallory.shell("both", "cat /var/run/secrets/kubernetes.io/serviceaccount/token");
    const holds = `import ssl, socket
s = ssl.create_default_context(cafile="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt").wrap_socket(socket.create_connection(("10.96.0.1", 443)), server_hostname="10.96.0.1")
open("/tmp/connected", "w"); s.settimeout(60)
print("closed" if s.recv(1) == b"" else "data")`;
    const held = mallory.shell("both", `python3 -c '${holds}' 2>&1 || echo closed`);
    await until(async () => ((await mallory.exec("both", "test -e /tmp/connected")).code === 0 ? true : undefined));
    await mallory.client.delete(policies, { namespace: mallory.namespace, name: "api" });
    await until(async () => ((await get("both", "/version")) === "unreachable" ? true : undefined));
    expect(await held).toContain("closed");
    await mallory.removePod("both");
    const headers = { authorization: `Bearer ${token}` };
    expect((await mallory.request("GET", own("pods"), undefined, headers)).status).toBe(401);
  });

  test("cannot take the address with a Service", async () => {
    const spec = { clusterIP: "10.96.0.1", ports: [{ port: 443 }], selector: { app: "evil" } };
    const service = { metadata: { namespace: mallory.namespace, name: "kubernetes" }, spec };
    await expect(mallory.client.create(services, service)).rejects.toThrow("already allocated");
  });
});
