import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findCondition, isConditionTrue } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { configMaps, pods } from "../../packages/node/src/resources.ts";
import { findTraces } from "../../packages/node/src/testing/traces.ts";
import { cannotRun, namespace, podOf, StateBox, soon } from "./state-box.ts";

/** `make test-state-long` sets 100 and 50. */
const cycles = Number(process.env["STATE_CYCLES"] ?? 3);
const connections = Number(process.env["STATE_CONNECTIONS"] ?? 6);

const program = readFileSync(join(import.meta.dirname, "counter-server.py"), "utf8");
const [webPort, linePort] = [8000, 9000];
const pod = podOf(["python3", "/program/counter-server.py"], {
  volumeMounts: [{ name: "program", mountPath: "/program" }],
  readinessProbe: { tcpSocket: { port: webPort }, periodSeconds: 1 },
});
const podTemplate = { spec: { ...pod.spec, volumes: [{ name: "program", configMap: { name: "program" } }] } };

/** A client that sends messages and checks that it gets each answer exactly once, in order. */
interface Counted {
  readonly kind: string;
  /** The numbers of the answer: of this connection, and of all of them. */
  count(message: string): Promise<readonly [number, number]>;
  readonly closed: Promise<unknown>;
  close(): void;
}

describe.skipIf(cannotRun)("open connections over the sleep of a sandbox", { timeout: 3_600_000 }, () => {
  let box: StateBox;
  let router: URL;
  const clients: Counted[] = [];
  /** The messages that were sent: the program in the sandbox must have counted the same. */
  let sent = 0;
  /** How often the sandbox was resumed. */
  let resumed = 0;

  beforeAll(async () => {
    box = await StateBox.start();
    const data = { "counter-server.py": program };
    await box.client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "program" },
      data,
    });
    await box.run("counter", {
      idlePolicy: { suspendAfterSeconds: 10, connections: "MaySleep" },
      resumePolicy: "OnTraffic",
      podTemplate,
    });
    router = box.router();
  });
  afterAll(async () => {
    for (const open of clients) open.close();
    await box?.[Symbol.asyncDispose]();
  });

  const read = () => box.read("counter");
  /** The number of all messages, and the epoch. */
  const get = (path = "/"): Promise<string> => box.get("counter", webPort, path);
  const epoch = async (): Promise<number> => (await read()).status?.suspension?.epoch ?? 0;

  async function openWebSocket(): Promise<Counted> {
    const headers = { host: `${webPort}-counter.default.localhost`, authorization: `Bearer ${box.token()}` };
    const socket = new WebSocket(`ws://${router.host}/`, { headers });
    await once(socket, "open");
    const count = async (message: string): Promise<readonly [number, number]> => {
      socket.send(message);
      return numbersIn(String((await once(socket, "message"))[0]), message);
    };
    return { kind: "WebSocket", count, closed: once(socket, "close"), close: () => socket.terminate() };
  }

  /** A tunnel to the port that answers lines. */
  async function openLines(): Promise<Socket> {
    const socket: Socket = connect(Number(router.port), router.hostname).setEncoding("utf8");
    const credential = `Proxy-Authorization: Bearer ${box.token()}`;
    socket.write(`CONNECT counter.default.localhost:${linePort} HTTP/1.1\r\nHost: x\r\n${credential}\r\n\r\n`);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    return socket;
  }

  async function openTunnel(): Promise<Counted> {
    const socket = await openLines();
    const count = async (message: string): Promise<readonly [number, number]> => {
      socket.write(`${message}\n`);
      let line = "";
      while (!line.endsWith("\n")) line += String((await once(socket, "data"))[0]);
      return numbersIn(line.trimEnd(), message);
    };
    const closed = new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve));
    return { kind: "tunnel", count, closed, close: () => socket.destroy() };
  }

  const podIsGone = async (): Promise<boolean> => !(await box.exists(pods, "counter"));

  async function suspend(): Promise<void> {
    await box.change("counter", { operatingMode: "Suspended" });
    await expect.poll(podIsGone, { timeout: 60_000, interval: 50 }).toBe(true);
  }

  /** Sends one message on each connection, all at once, and compares the numbers of the answers. */
  async function countOnAll(label: string, expected: number): Promise<void> {
    const answers = await Promise.all(clients.map((open, index) => open.count(`${label}-${index}`)));
    expect(answers.map(([own]) => own)).toEqual(clients.map(() => expected));
    const totals = answers.map(([, total]) => total).toSorted((one, other) => one - other);
    expect(totals).toEqual(clients.map((_, index) => sent + index + 1));
    sent += clients.length;
  }

  test("the sandbox falls asleep although connections are open, and gives its memory back", async () => {
    for (let index = 0; index < connections; index += 1) {
      clients.push(await (index % 2 === 0 ? openWebSocket() : openTunnel()));
    }
    await countOnAll("awake", 1);
    const before = memoryOfSandboxes(box.box.dataDir);
    expect(before).toBeGreaterThan(64 * 2 ** 20);
    await expect.poll(podIsGone, { timeout: 120_000, interval: 200 }).toBe(true);
    const { status } = await read();
    expect(findCondition(status?.conditions, "Suspended")).toMatchObject({ status: "True", reason: "Idle" });
    expect(status?.suspension).toMatchObject({ depth: "Memory" });
    await expect.poll(() => memoryOfSandboxes(box.box.dataDir), soon).toBeLessThan(before - 64 * 2 ** 20);
    const traces = async (): Promise<unknown[]> => {
      const { processes, cgroups } = await findTraces(box.box.dataDir);
      return [...processes, ...cgroups];
    };
    await expect.poll(traces, soon).toEqual([]);
  });

  test("nobody is woken by silence", async () => {
    await sleep(2000);
    expect([await podIsGone(), isConditionTrue((await read()).status?.conditions, "Ready")]).toEqual([true, false]);
  });

  test("one byte wakes it, and all connections continue with the next number", async () => {
    const [first] = clients;
    expect(await first?.count("wake")).toEqual([2, sent + 1]);
    sent += 1;
    const answers = await Promise.all(clients.slice(1).map((open, index) => open.count(`next-${index}`)));
    expect(answers.map(([own]) => own)).toEqual(clients.slice(1).map(() => 2));
    sent += clients.length - 1;
    resumed += 1;
    expect((await read()).status?.suspension).toMatchObject({ restored: "Memory", epoch: resumed });
  });

  test("bytes that are on their way when it falls asleep arrive once, and in order", async () => {
    const socket = await openLines();
    let received = "";
    socket.on("data", (text: string) => (received += text));
    const before = await epoch();
    let lines = 0;
    // More often than the steps of a suspension, so that bytes are sent during each of them.
    const sending = setInterval(() => socket.write(`${(lines += 1)}\n`), 5);
    for (let slept = 1; slept <= 3; slept += 1) {
      await box.change("counter", { operatingMode: "Suspended" });
      await expect.poll(epoch, { timeout: 60_000, interval: 100 }).toBe(before + slept);
    }
    clearInterval(sending);
    await expect.poll(() => received.split("\n").length - 1, { timeout: 30_000 }).toBe(lines);
    const answers = received.trimEnd().split("\n");
    expect(answers).toEqual(answers.map((_, index) => `${index + 1} ${sent + index + 1} ${index + 1}`));
    sent += lines;
    resumed += 3;
    socket.destroy();
  });

  test("requests that arrive during the steps of a suspension are answered after the resume", async () => {
    const answers: Promise<string>[] = [];
    const asking = setInterval(() => answers.push(get()), 50);
    await box.change("counter", { operatingMode: "Suspended" });
    await expect.poll(epoch, { timeout: 60_000, interval: 100 }).toBe((resumed += 1));
    clearInterval(asking);
    // Each of them fails if its response is not 200.
    expect((await Promise.all(answers)).length).toBeGreaterThan(1);
    expect(await get()).toBe(`${sent} ${resumed}`);
  });

  test("no byte is lost or repeated over many sleeps", async () => {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      await suspend();
      await countOnAll(`cycle-${cycle}`, 3 + cycle);
      resumed += 1;
    }
    const { status } = await read();
    expect(status?.suspension?.epoch).toBe(resumed);
    expect(await get()).toBe(`${sent} ${resumed}`);
  });

  test("a rollback ends the connections, in the clients and in the sandbox", async () => {
    await box.snapshot("early", "counter");
    await countOnAll("later", 3 + cycles);
    expect(await get("/open")).toBe(String(clients.length));
    await suspend();
    await box.resume("counter", { restoreFrom: { snapshotRef: { name: "early" } } });
    await Promise.all(clients.map(({ closed }) => closed));
    await expect.poll(() => get("/open"), { timeout: 10_000, interval: 100 }).toBe("0");
  });
});

/** The numbers in an answer to this message. */
function numbersIn(answer: string, message: string): readonly [number, number] {
  const [own, total, ...rest] = answer.split(" ");
  expect(rest.join(" ")).toBe(message);
  return [Number(own), Number(total)];
}

/** The memory of the processes that run the sandboxes of a box, in bytes: their proportional set size. */
function memoryOfSandboxes(dataDir: string): number {
  const bytesOf = (pid: string): number => {
    try {
      const isSandbox = /runsc/.test(
        readFileSync(`/proc/${pid}/comm`, "utf8") + readFileSync(`/proc/${pid}/cmdline`, "utf8"),
      );
      if (!isSandbox || !readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dataDir)) return 0;
      return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024;
    } catch {
      // The process has ended.
      return 0;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => sum + bytesOf(pid), 0);
}
