import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { ask, TestCluster, toSandbox } from "./cluster.test.support.ts";

const cluster = new TestCluster();
afterAll(() => cluster[Symbol.asyncDispose]());

test("never sends a request to another tenant's pod that got the address, although the watch lags", async () => {
  const ip = TestCluster.nextIp();
  const listen = (tenant: string, port: number) => cluster.serve((_, response) => response.end(tenant), { ip, port });
  let served = await listen("a", 0);
  const { port } = served;
  const [a, b] = [await cluster.sandbox("tenant-a"), await cluster.sandbox("tenant-b")];
  await cluster.pod(a, ip, { name: "a-0" });
  const router = await cluster.router({ holdMs: 20, retries: { max: 1, firstDelayMs: 1 } });
  cluster.api.watchDelayMs = () => 40;

  const answers: string[] = [];
  const asking = new AbortController();
  const load = Array.from({ length: 8 }, async (_, worker) => {
    while (!asking.signal.aborted) {
      const tenant = worker % 2 === 0 ? "a" : "b";
      const { status, text } = await ask(router, "/", toSandbox(`tenant-${tenant}`, port));
      answers.push(status === 200 ? `${tenant}=${text}` : "none");
      await sleep(1);
    }
  });
  const isServed = (tenant: string): boolean => answers.includes(`${tenant}=${tenant}`);
  // More turns on a busy machine, until each tenant was served at least once.
  for (let turn = 1; turn <= 20 || (turn <= 400 && !(isServed("a") && isServed("b"))); turn += 1) {
    const [from, to, name] = turn % 2 === 1 ? (["a", b, "b"] as const) : (["b", a, "a"] as const);
    // Replaced by a pod of another owner within 10 ms.
    await cluster.removePod(`${from}-${turn - 1}`);
    await served.close();
    served = await listen(name, port);
    await cluster.pod(to, ip, { name: `${name}-${turn}` });
    await sleep(60);
  }
  asking.abort();
  await Promise.all(load);
  cluster.api.watchDelayMs = undefined;
  const counts = Map.groupBy(answers, (answer) => answer);
  expect([counts.get("a=b"), counts.get("b=a")]).toEqual([undefined, undefined]);
  expect([isServed("a"), isServed("b")]).toEqual([true, true]);
});

test("sends nothing to a Pod of another namespace that names the Sandbox as its controller", async () => {
  const received: string[] = [];
  const record = (tenant: string) =>
    cluster.serve(
      ({ headers }, response) => {
        received.push(tenant, String(headers["x-sandbox-token"]));
        response.end(tenant);
      },
      { port: 8888 },
    );
  const [attacker, victim] = [await record("attacker"), await record("victim")];
  const sandbox = await cluster.sandbox("named-by-others", { spec: { runtime: "Injected" } });
  await cluster.runtimeToken(sandbox, "runtime-token");
  const elsewhere = { ...sandbox, metadata: { ...sandbox.metadata, namespace: "attacker" } };
  const router = await cluster.router({ holdMs: 100 });
  const get = (): ReturnType<typeof ask> => ask(router, "/", toSandbox("named-by-others", 8888));
  // The attacker's Pod exists first, and alone.
  await cluster.pod(elsewhere, attacker.ip);
  expect((await get()).headers["x-sandbox-reason"]).toBe("SandboxStarting");
  await cluster.pod(sandbox, victim.ip);
  await expect.poll(async () => (await get()).text).toBe("victim");
  expect(new Set(received)).toEqual(new Set(["victim", "runtime-token"]));
});

test("closes the connections of a pod when it is gone", async () => {
  const served = await cluster.serve(() => undefined);
  const sandbox = await cluster.sandbox("short-lived");
  await cluster.pod(sandbox, served.ip);
  const router = await cluster.router();
  const socket = connect(router.address?.port ?? 0, router.address?.host);
  socket.write(`CONNECT short-lived.default.localhost:${served.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "data");
  const broken = once(socket, "error") as Promise<[NodeJS.ErrnoException]>;
  await cluster.removePod("short-lived");
  // A reset, so that the partial response does not look complete.
  expect((await broken)[0].code).toBe("ECONNRESET");
});

test("sends nothing while the address cannot be verified", async () => {
  let arrived = 0;
  const served = await cluster.serve((_, response) => {
    arrived += 1;
    response.end();
  });
  await cluster.pod(await cluster.sandbox("unsure"), served.ip);
  const router = await cluster.router({ retries: { max: 0 } });
  cluster.api.onRequest = ({ verb, resource }) =>
    verb === "get" && resource.plural === "pods" ? { refuse: { reason: "InternalError" } } : undefined;
  const { status, text } = await ask(router, "/", toSandbox("unsure", served.port));
  cluster.api.onRequest = undefined;
  expect([status, (JSON.parse(text) as { reason: string }).reason, arrived]).toEqual([503, "Unverified", 0]);
});
