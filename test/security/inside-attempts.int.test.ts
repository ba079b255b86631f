import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useAttacker } from "./attacker.ts";
import { attempts } from "./inside/attempts.ts";
import { outside } from "./machine.ts";
import { changes, snapshot } from "./monitor.ts";
import { noWorld } from "./why-no-world.ts";

describe.skipIf(noWorld)("code in a sandbox", () => {
  const setup = useAttacker();
  beforeAll(async () => {
    await Promise.all(setup.world.runtimes.map((runtime) => setup.mallory.runPod(runtime, { runtime })));
  });

  const friendsProcess = (): number => {
    const record = join(
      setup.world.box.dataDir,
      "node/pods",
      setup.world.alice.record.pods["friend"]?.uid ?? "",
      "pod.json",
    );
    return JSON.parse(readFileSync(record, "utf8")).containers.main.run.process.pid as number;
  };

  test.for(["gvisor", "runc"] as const)(
    "under %s reads, mounts, loads, changes and signals nothing of the machine or of others",
    async (runtime, { skip }) => {
      if (!setup.world.runtimes.includes(runtime)) skip(`the machine has no ${runtime}`);
      const before = await snapshot(setup.world.box);
      const prey = { dataDir: setup.world.box.dataDir, canary: setup.world.alice.secret, otherPid: friendsProcess() };
      const tried = attempts(prey).filter(({ only }) => only === undefined || only === runtime);
      const results: { name: string; said: string }[] = [];
      for (const { name, script } of tried) results.push({ name, said: await setup.mallory.shell(runtime, script) });
      expect(results).toEqual(tried.map(({ name, expected }) => ({ name, said: expect.stringMatching(expected) })));
      expect(changes(before, await snapshot(setup.world.box))).toEqual([]);
      expect(await setup.world.alice.harm()).toEqual([]);
    },
  );

  test.for(["gvisor", "runc"] as const)(
    "under %s reaches no port of the machine, of another tenant, or of the link-local network",
    async (runtime, { skip }) => {
      if (!setup.world.runtimes.includes(runtime)) skip(`the machine has no ${runtime}`);
      await using listener = createServer((socket) => socket.end()).listen(0, "0.0.0.0");
      await once(listener, "listening");
      const { port } = listener.address() as { port: number };
      const addresses = Object.values(setup.world.alice.record.pods).map(({ address }) => address);
      const machine = [outside.machine, "127.0.0.1", ...addresses.map((address) => address.replace(/\.\d+$/, ".1"))];
      const targets = [
        ...machine.flatMap((host) =>
          [port, setup.world.box.apiPort, setup.world.box.routerPort].map((each) => [host, each]),
        ),
        ...addresses.map((host) => [host, 8000]),
        ...outside.ports.map((each) => [outside.linkLocal, each]),
      ];
      const script = `
import json, socket
for host, port in ${JSON.stringify(targets)}:
    try: socket.create_connection((host, port), 0.3); print("reached", host, port)
    except OSError: pass`;
      expect(await setup.mallory.shell(runtime, `python3 -c '${script}'`)).toBe("");
      expect(setup.world.machine.received().filter(({ address }) => address === outside.linkLocal)).toEqual([]);
    },
  );
});
