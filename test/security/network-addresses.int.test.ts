import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outside } from "./machine.ts";
import type { Tenant } from "./tenant.ts";
import { services } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

/** A server on these ports that reveals whether traffic was redirected to the attacker's Pod. */
const impostor = `python3 -c '
import socket, threading
def serve(port):
    server = socket.create_server(("0.0.0.0", port), backlog=64)
    while True:
        connection, _ = server.accept()
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\nConnection: close\\r\\n\\r\\nimpostor")
        connection.close()
for port in (80, 8000, 9999): threading.Thread(target=serve, args=(port,)).start()
'`;

describe.skipIf(noWorld)("addresses that a tenant writes", () => {
  let world: World;
  let mallory: Tenant;
  const ports = [80, 8000, 9999].map((port) => ({ name: `p${port}`, port }));

  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    const readinessProbe = { tcpSocket: { port: 9999 }, periodSeconds: 1 };
    const containers = [{ name: "main", image: "host", command: ["sh", "-c", impostor], readinessProbe }];
    await mallory.runPod("evil", { metadata: { labels: { app: "evil" } }, spec: { containers } });
  });
  afterAll(async () => {
    await mallory?.removePod("evil");
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const claim = (name: string, spec: object): Promise<{ status: number; body: unknown }> =>
    mallory.request("POST", `/api/v1/namespaces/${mallory.namespace}/services`, {
      metadata: { name },
      spec: { selector: { app: "evil" }, ports, ...spec },
    });

  /** The response that root on the machine gets from a host. */
  const fetch = async (address: string, port: number): Promise<string> => {
    const program = `import urllib.request; print(urllib.request.urlopen("http://${address}:${port}/", timeout=3).read())`;
    return (await world.machine.run("python3", "-c", program)).stdout;
  };

  test("a Service cannot take the address of a victim's Pod", async () => {
    for (const { address } of Object.values(world.alice.record.pods)) {
      for (const spec of [{ clusterIP: address }, { clusterIPs: [address] }]) {
        expect(await claim("pod-address", spec)).toMatchObject({ status: 422 });
      }
    }
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a Service cannot take the address of a victim's Service", async () => {
    const { spec } = await world.alice.client.get(services, { namespace: world.alice.namespace, name: "web" });
    expect(await claim("service-address", { clusterIP: spec?.clusterIP })).toMatchObject({ status: 422 });
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a Service cannot take loopback: a service of the machine stays reachable", async () => {
    const server = createServer((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nthe machine")).listen(9999, "127.0.0.1");
    await once(server, "listening");
    try {
      expect(await claim("loopback", { clusterIP: "127.0.0.1" })).toMatchObject({ status: 422 });
      expect(await fetch("127.0.0.1", 9999)).toContain("the machine");
    } finally {
      server.close();
    }
  });

  test("a Service cannot take an address outside: the machine's own traffic gets there", async () => {
    for (const clusterIP of [outside.public, outside.linkLocal, outside.private, outside.machine, "0.0.0.0"]) {
      expect(await claim("outside", { clusterIP })).toMatchObject({ status: 422 });
    }
    expect(await fetch(outside.public, 80)).toContain(`outside ${outside.public}:80`);
  });

  test.for([
    ["external addresses", { externalIPs: [outside.public, "127.0.0.1"] }],
    ["load balancer addresses", { type: "LoadBalancer", loadBalancerIP: outside.public }],
    ["node ports", { type: "NodePort", ports: [{ name: "a", port: 80, nodePort: 31_998, targetPort: 9999 }] }],
  ] as const)("%s of a Service are stored and have no effect on the machine", async ([name, spec]) => {
    expect(await claim(name.replaceAll(" ", "-").toLowerCase(), spec)).toMatchObject({ status: 201 });
    expect(await fetch(outside.public, 80)).toContain(`outside ${outside.public}:80`);
    expect(await fetch("127.0.0.1", 31_998)).not.toContain("impostor");
    expect(await fetch(outside.machine, 31_998)).not.toContain("impostor");
  });

  test("a tenant can write neither endpoints nor Pod addresses, and cannot reach the node", async () => {
    const own = `/api/v1/namespaces/${mallory.namespace}`;
    const subsets = [{ addresses: [{ ip: world.alice.record.pods["web"]?.address }], ports: [{ port: 8000 }] }];
    expect(await mallory.request("POST", `${own}/endpoints`, { metadata: { name: "e" }, subsets })).toMatchObject({
      status: 403,
    });
    const slice = { metadata: { name: "e" }, addressType: "IPv4", endpoints: [], ports: [] };
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${mallory.namespace}/endpointslices`;
    expect(await mallory.request("POST", slices, slice)).toMatchObject({ status: 403 });
    const status = { status: { podIP: world.alice.record.pods["web"]?.address } };
    const merge = { "content-type": "application/merge-patch+json" };
    expect(await mallory.request("PATCH", `${own}/pods/evil/status`, status, merge)).toMatchObject({ status: 403 });
    await mallory.request("PATCH", `${own}/pods/evil`, status, merge);
    const { status: kept } = await mallory.pod("evil");
    expect(kept?.podIP).not.toBe(world.alice.record.pods["web"]?.address);
    expect(await mallory.request("GET", "/api/v1/nodes/box/proxy/metrics")).toMatchObject({ status: 403 });
  });
});
