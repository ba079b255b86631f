import type { Container } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { outside } from "./machine.ts";
import { isPodReady, until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";

describe.skipIf(noWorld)("probes and hooks that a tenant writes", () => {
  const setup = useAttacker();

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
      setup.world.alice.record.pods["web"]?.address ?? "",
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
        return setup.mallory.createPod(names[at] ?? "", { spec: { containers: [main({ ...probes, lifecycle })] } });
      }),
    );
    for (const [at, name] of names.entries()) {
      const events = await until(async () => {
        const all = await setup.mallory.events(name);
        return all.some((text) => text.startsWith("Unhealthy")) ? all : undefined;
      });
      expect(events).toContainEqual(
        expect.stringContaining(`Cannot connect to host "${hosts[at]}": it is not this Pod`),
      );
    }
    await Promise.all(names.map((name) => setup.mallory.removePod(name, 5)));
    const traces = setup.world.machine.received().filter(({ text }) => /probe-was-here|hook-was-here/.test(text));
    expect(traces).toEqual([]);
    expect(setup.world.machine.received().filter(({ address }) => address === outside.linkLocal)).toEqual([]);
    expect(await setup.world.alice.harm()).toEqual([]);
  });

  test("to localhost connect to the Pod's own loopback, not the machine's", async () => {
    const serve = "exec python3 -m http.server 9091 --bind 127.0.0.1";
    const probe = (port: number): object => ({ ...often, httpGet: { host: "127.0.0.1", port, path: "/" } });
    await Promise.all(
      setup.world.runtimes.flatMap((runtime) => [
        setup.mallory.createPod(`inside-${runtime}`, {
          runtime,
          spec: { containers: [main({ readinessProbe: probe(9091) }, serve)] },
        }),
        setup.mallory.createPod(`machine-${runtime}`, {
          runtime,
          spec: {
            containers: [
              main({ readinessProbe: { ...often, tcpSocket: { host: "localhost", port: setup.world.box.apiPort } } }),
            ],
          },
        }),
      ]),
    );
    for (const runtime of setup.world.runtimes) {
      await setup.mallory.podUntil(`inside-${runtime}`, isPodReady);
      await until(async () =>
        (await setup.mallory.events(`machine-${runtime}`)).some((text) => text.startsWith("Unhealthy"))
          ? true
          : undefined,
      );
      expect(isPodReady(await setup.mallory.pod(`machine-${runtime}`))).toBe(false);
    }
    await Promise.all(
      setup.world.runtimes.flatMap((runtime) => [
        setup.mallory.removePod(`inside-${runtime}`),
        setup.mallory.removePod(`machine-${runtime}`),
      ]),
    );
  });

  test("that never end do not affect the victim's probes and new Pods", async () => {
    const slow = { exec: { command: ["sleep", "3600"] }, timeoutSeconds: 3600, periodSeconds: 1 };
    const containers = Array.from({ length: 10 }, (_, at) => ({ ...main({ readinessProbe: slow }), name: `c${at}` }));
    await setup.mallory.createPod("slow", { spec: { containers } });
    await setup.mallory.podUntil("slow", ({ status }) => status?.phase === "Running");
    expect(await setup.world.alice.startsPodsAndPolicies()).toBe(true);
    expect(await setup.world.alice.harm()).toEqual([]);
    await setup.mallory.removePod("slow");
  });
});
