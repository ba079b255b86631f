import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { text } from "node:stream/consumers";
import type { NetworkPolicy, PodSpec } from "@agent-sandbox/api";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { namespaces, networkPolicies, pods, services } from "../resources.ts";
import { runCommand, tryCommand } from "../system/run-command.ts";
import { cannotRun, testedRuntimes } from "../testing/runtimes.ts";
import { isReady, namespace, nodeName } from "../testing/test-api.ts";
import { openTestBox, type TestBox } from "../testing/test-box.ts";

const outsideName = `asbtest-${process.pid}`;
const outside = "198.18.77.2";
const serve =
  "import socket\\ns=socket.create_server(('0.0.0.0',8000))\\nprint('up',flush=True)\\nwhile True:\\n c,a=s.accept(); c.send(a[0].encode()); c.close()";

let box: TestBox;
let server: ChildProcess | undefined;

/** A run that was killed leaves its link behind, which has the same addresses. */
async function removeOldLinks(): Promise<void> {
  const links = await runCommand("ip", ["-o", "-4", "addr", "show", "to", "198.18.77.1"]);
  for (const [link, pid] of links.matchAll(/\basbt(\d+)\b/g)) {
    if (!existsSync(`/proc/${pid}`)) await tryCommand("ip", ["link", "del", link]);
  }
}

/** A remote host that has no route to the Pod network. */
async function makeOutside(): Promise<void> {
  await removeOldLinks();
  const host = `asbt${process.pid}`;
  const lines = [
    `netns add ${outsideName}`,
    `link add ${host} type veth peer name eth0 netns ${outsideName}`,
    `addr add 198.18.77.1/30 dev ${host}`,
    // A part of the Service range is a network of the machine.
    `addr add 10.96.77.1/30 dev ${host}`,
    `link set ${host} up`,
  ];
  await runCommand("ip", ["-batch", "-"], { input: `${lines.join("\n")}\n` });
  const inner = [
    `addr add ${outside}/30 dev eth0`,
    "addr add 10.96.77.2/30 dev eth0",
    "link set eth0 up",
    "link set lo up",
  ];
  await runCommand("ip", ["-n", outsideName, "-batch", "-"], { input: `${inner.join("\n")}\n` });
  const program = serve.replaceAll("\\n", "\n");
  server = spawn("ip", ["netns", "exec", outsideName, "python3", "-c", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout as NodeJS.ReadableStream, "data");
}

beforeAll(async () => {
  if (cannotRun) return;
  await makeOutside();
  box = await openTestBox();
  await box.api.client.create(namespaces, { metadata: { name: namespace, labels: { team: "red" } } });
  await box.api.client.create(namespaces, { metadata: { name: "elsewhere", labels: { team: "blue" } } });
});

afterAll(async () => {
  if (cannotRun) return;
  await box[Symbol.asyncDispose]();
  server?.kill("SIGKILL");
  await tryCommand("ip", ["netns", "del", outsideName]);
});

const spec = (runtime: string): Partial<PodSpec> => ({
  runtimeClassName: runtime,
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", serve.replaceAll("\\n", "\n")],
      readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
    },
  ],
});

async function start(name: string, runtime: string, app: string): Promise<string> {
  await box.create(name, { metadata: { labels: { app } }, spec: spec(runtime) });
  return (await box.api.until(name, isReady)).status?.podIP ?? "";
}

/** The source address that the other side sees, or that the connection failed. */
const reach = (from: string, host: string, port = 8000): Promise<string> =>
  box.shell(
    from,
    `python3 -c "
import socket
try: print(socket.create_connection(('${host}',${port}),1).recv(99).decode())
except OSError as error: print('no')"`,
  );

/** The same for a connection from the machine itself. */
async function answer(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  return text(socket).catch(() => "no");
}

/** Retries, because rules follow the API with a delay. */
const patience = { timeout: 20_000, interval: 100 };

const policy = (name: string, given: NonNullable<NetworkPolicy["spec"]>): Promise<unknown> =>
  box.api.client.create(networkPolicies, { metadata: { namespace, name }, spec: given });

const forget = (name: string): Promise<unknown> => box.api.client.delete(networkPolicies, { namespace, name });

describe.skipIf(cannotRun).each(testedRuntimes)("the network of Pods with %s", (runtime) => {
  const [a, b] = [`a-${runtime}`, `b-${runtime}`];
  let addressOfA: string;
  let addressOfB: string;

  beforeAll(async () => {
    [addressOfA, addressOfB] = await Promise.all([start(a, runtime, "a"), start(b, runtime, "b")]);
  });
  afterEach(async () => {
    const made = await box.api.client.list(networkPolicies, { namespace });
    await Promise.all(made.items.map(({ metadata }) => forget(metadata?.name ?? "")));
  });
  afterAll(async () => {
    await Promise.all([box.remove(a, 0), box.remove(b, 0)]);
  });

  test("Pods of a namespace reach each other by address and by name, with their own source address", async () => {
    await expect.poll(() => reach(a, addressOfB), patience).toBe(addressOfA);
    expect(await reach(a, b)).toBe(addressOfA);
    expect(await reach(b, `${a}.${namespace}`)).toBe(addressOfB);
    expect(await reach(b, `${a}.${namespace}.svc.cluster.local`)).toBe(addressOfB);
    expect(await reach(a, "nobody")).toBe("no");
  });

  test("Pods reach the outside with the machine's address", async () => {
    await expect.poll(() => reach(a, outside), patience).toBe("198.18.77.1");
  });

  test("a Service can be reached by its address and its name", async () => {
    const clusterIP = "10.96.7.7";
    await box.api.client.create(services, {
      metadata: { namespace, name: "front" },
      spec: { clusterIP, selector: { app: "b" }, ports: [{ port: 80, targetPort: 8000 }] },
    });
    await expect.poll(() => reach(a, clusterIP, 80), patience).toBe(addressOfA);
    expect(await reach(a, "front", 80)).toBe(addressOfA);
    await box.api.client.delete(services, { namespace, name: "front" });
  });

  test("a Service with an address that is not its own redirects nothing", async () => {
    const local = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
    await once(local, "listening");
    const { port } = local.address() as AddressInfo;
    const ports = [8000, port].map((each) => ({ name: `p${each}`, port: each, targetPort: 8000 }));
    const foreign = [addressOfB, "127.0.0.1", outside, "198.18.77.1"];
    for (const [at, clusterIP] of foreign.entries()) {
      const spec = { clusterIP, selector: { app: "a" }, ports };
      await box.api.client.create(services, { metadata: { namespace, name: `foreign-${at}` }, spec });
    }
    for (const [at] of foreign.entries()) {
      await expect
        .poll(() => box.events(`foreign-${at}`), patience)
        .toContainEqual(expect.stringContaining("nothing is redirected"));
    }
    expect(await answer("127.0.0.1", port)).toBe("machine");
    expect(await answer(outside, 8000)).toBe("198.18.77.1");
    expect(await reach(a, addressOfB)).toBe(addressOfA);
    for (const [at] of foreign.entries()) await box.api.client.delete(services, { namespace, name: `foreign-${at}` });
    local.close();
  });

  test("the machine reaches its own network in the Service range, and Pods reach the Service", async () => {
    const clusterIP = "10.96.77.2";
    await box.api.client.create(services, {
      metadata: { namespace, name: "shadow" },
      spec: { clusterIP, selector: { app: "b" }, ports: [{ port: 8000 }] },
    });
    await expect.poll(() => reach(a, clusterIP), patience).toBe(addressOfA);
    expect(await answer(clusterIP, 8000)).toBe("10.96.77.1");
    await box.api.client.delete(services, { namespace, name: "shadow" });
    await expect.poll(() => reach(a, clusterIP), patience).toBe("no");
  });

  test("an ingress policy denies everybody it does not select, except the machine", async () => {
    await policy("closed", { podSelector: { matchLabels: { app: "b" } } });
    await expect.poll(() => reach(a, b), patience).toBe("no");
    expect(await reach(b, a)).toBe(addressOfB);
    await policy("open", {
      podSelector: { matchLabels: { app: "b" } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: "a" } } }], ports: [{ port: 8000 }] }],
    });
    await expect.poll(() => reach(a, b), patience).toBe(addressOfA);
  });

  test("an egress policy denies everything it does not allow", async () => {
    await policy("inside", {
      podSelector: { matchLabels: { app: "a" } },
      policyTypes: ["Egress"],
      egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["198.18.0.0/15"] } }] }],
    });
    await expect.poll(() => reach(a, outside), patience).toBe("no");
    expect(await reach(a, addressOfB)).toBe(addressOfA);
    await forget("inside");
    await expect.poll(() => reach(a, outside), patience).toBe("198.18.77.1");
  });

  test("Pods of another namespace are denied until a policy allows them", async () => {
    const metadata = { namespace: "elsewhere", name: `c-${runtime}`, labels: { app: "c" } };
    await box.api.client.create(pods, {
      metadata,
      spec: { nodeName, ...spec(runtime) } as PodSpec,
    });
    const read = (): string => {
      const pod = box.api.server.read(pods, metadata);
      return pod !== undefined && isReady(pod) ? (pod.status?.podIP ?? "") : "";
    };
    await expect.poll(read, { timeout: 30_000 }).not.toBe("");
    expect(await reach(a, read())).toBe("no");
    await box.api.client.create(networkPolicies, {
      metadata: { namespace: "elsewhere", name: "guests" },
      spec: { podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "red" } } }] }] },
    });
    await expect.poll(() => reach(a, read()), patience).toBe(addressOfA);
    await box.api.client.delete(networkPolicies, { namespace: "elsewhere", name: "guests" });
    await box.api.client.delete(pods, metadata, { gracePeriodSeconds: 0 });
  });
});
