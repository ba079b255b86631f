import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outside } from "./machine.ts";
import type { Tenant } from "./tenant.ts";
import { isPodReady, until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

describe.skipIf(noWorld)("probes and hooks that a tenant writes", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const main = (given: Partial<Container>, script = "exec sleep infinity"): Container => ({
    name: "main",
    image: "host",
    command: ["sh", "-c", script],
    ...given,
  });
  const often = { periodSeconds: 1, failureThreshold: 1000 };

  test("connect to nothing but their own Pod", async () => {
    const hosts = [
      outside.linkLocal,
      outside.public,
      outside.private,
      world.alice.record.pods["web"]?.address ?? "",
      "localtest.example.com",
    ];
    const httpHeaders = [{ name: "Metadata-Flavor", value: "Google" }];
    const names = hosts.map((_, at) => `aim-${at}`);
    await Promise.all(
      hosts.map((host, at) => {
        const readinessProbe = { ...often, httpGet: { host, port: 80, path: "/probe-was-here", httpHeaders } };
        const startupProbe = { ...often, tcpSocket: { host, port: 8000 } };
        const lifecycle = { preStop: { httpGet: { host, port: 80, path: "/hook-was-here", httpHeaders } } };
        const probes = at % 2 === 0 ? { readinessProbe } : { startupProbe };
        return mallory.createPod(names[at] ?? "", { spec: { containers: [main({ ...probes, lifecycle })] } });
      }),
    );
    for (const [at, name] of names.entries()) {
      const events = await until(async () => {
        const all = await mallory.events(name);
        return all.some((text) => text.startsWith("Unhealthy")) ? all : undefined;
      });
      expect(events).toContainEqual(
        expect.stringContaining(`Cannot connect to host "${hosts[at]}": it is not this Pod`),
      );
    }
    await Promise.all(names.map((name) => mallory.removePod(name, 5)));
    const traces = world.machine.received().filter(({ text }) => /probe-was-here|hook-was-here/.test(text));
    expect(traces).toEqual([]);
    expect(world.machine.received().filter(({ address }) => address === outside.linkLocal)).toEqual([]);
    expect(await world.alice.harm()).toEqual([]);
  });

  test("of localhost mean the Pod's own loopback, not the machine's", async () => {
    const serve = "exec python3 -m http.server 9091 --bind 127.0.0.1";
    const probe = (port: number): object => ({ ...often, httpGet: { host: "127.0.0.1", port, path: "/" } });
    await Promise.all(
      world.runtimes.flatMap((runtime) => [
        mallory.createPod(`inside-${runtime}`, {
          runtime,
          spec: { containers: [main({ readinessProbe: probe(9091) }, serve)] },
        }),
        mallory.createPod(`machine-${runtime}`, {
          runtime,
          spec: {
            containers: [
              main({ readinessProbe: { ...often, tcpSocket: { host: "localhost", port: world.box.apiPort } } }),
            ],
          },
        }),
      ]),
    );
    for (const runtime of world.runtimes) {
      await mallory.podUntil(`inside-${runtime}`, isPodReady);
      await until(async () =>
        (await mallory.events(`machine-${runtime}`)).some((text) => text.startsWith("Unhealthy")) ? true : undefined,
      );
      expect(isPodReady(await mallory.pod(`machine-${runtime}`))).toBe(false);
    }
    await Promise.all(
      world.runtimes.flatMap((runtime) => [
        mallory.removePod(`inside-${runtime}`),
        mallory.removePod(`machine-${runtime}`),
      ]),
    );
  });

  test("that never end leave the victim's probes and new Pods alone", async () => {
    const slow = { exec: { command: ["sleep", "3600"] }, timeoutSeconds: 3600, periodSeconds: 1 };
    const containers = Array.from({ length: 10 }, (_, at) => ({ ...main({ readinessProbe: slow }), name: `c${at}` }));
    await mallory.createPod("slow", { spec: { containers } });
    await mallory.podUntil("slow", ({ status }) => status?.phase === "Running");
    expect(await world.alice.startsPodsAndPolicies()).toBe(true);
    expect(await world.alice.harm()).toEqual([]);
    await mallory.removePod("slow");
  });
});
