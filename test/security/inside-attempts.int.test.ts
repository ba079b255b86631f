import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attempts } from "./inside/attempts.ts";
import { outside } from "./machine.ts";
import { changes, snapshot } from "./monitor.ts";
import type { Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

describe.skipIf(noWorld)("code in a sandbox", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    await Promise.all(world.runtimes.map((runtime) => mallory.runPod(runtime, { runtime })));
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const friendsProcess = (): number => {
    const record = join(world.box.dataDir, "node/pods", world.alice.record.pods["friend"]?.uid ?? "", "pod.json");
    return JSON.parse(readFileSync(record, "utf8")).containers.main.run.process.pid as number;
  };

  test.for(["gvisor", "runc"] as const)(
    "under %s reads, mounts, loads, changes and signals nothing of the machine or of others",
    async (runtime, { skip }) => {
      if (!world.runtimes.includes(runtime)) skip(`the machine has no ${runtime}`);
      const before = await snapshot(world.box);
      const prey = { dataDir: world.box.dataDir, canary: world.alice.secret, otherPid: friendsProcess() };
      const tried = attempts(prey).filter(({ only }) => only === undefined || only === runtime);
      const results: { name: string; said: string }[] = [];
      for (const { name, script } of tried) results.push({ name, said: await mallory.shell(runtime, script) });
      expect(results).toEqual(tried.map(({ name, expected }) => ({ name, said: expect.stringMatching(expected) })));
      expect(changes(before, await snapshot(world.box))).toEqual([]);
      expect(await world.alice.harm()).toEqual([]);
    },
  );

  test.for(["gvisor", "runc"] as const)(
    "under %s reaches no port of the machine, of another tenant, or of the link-local network",
    async (runtime, { skip }) => {
      if (!world.runtimes.includes(runtime)) skip(`the machine has no ${runtime}`);
      await using listener = createServer((socket) => socket.end()).listen(0, "0.0.0.0");
      await once(listener, "listening");
      const { port } = listener.address() as { port: number };
      const addresses = Object.values(world.alice.record.pods).map(({ address }) => address);
      const machine = [outside.machine, "127.0.0.1", ...addresses.map((address) => address.replace(/\.\d+$/, ".1"))];
      const targets = [
        ...machine.flatMap((host) => [port, world.box.apiPort, world.box.routerPort].map((each) => [host, each])),
        ...addresses.map((host) => [host, 8000]),
        ...outside.ports.map((each) => [outside.linkLocal, each]),
      ];
      const script = `
import json, socket
for host, port in ${JSON.stringify(targets)}:
    try: socket.create_connection((host, port), 0.3); print("reached", host, port)
    except OSError: pass`;
      expect(await mallory.shell(runtime, `python3 -c '${script}'`)).toBe("");
      expect(world.machine.received().filter(({ address }) => address === outside.linkLocal)).toEqual([]);
    },
  );
});
