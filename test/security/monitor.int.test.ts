import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changes, type Snapshot, snapshot } from "./monitor.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

/** Every attack relies on this: a change of the machine that the monitor misses is an attack that a test misses. */
describe.skipIf(noWorld)("the monitor of the machine", () => {
  let world: World;
  let before: Snapshot;
  beforeAll(async () => {
    world = await enterWorld();
    before = await snapshot(world.box);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const run = async (...[program, ...words]: [string, ...string[]]): Promise<void> => {
    expect(await world.machine.run(program, ...words)).toMatchObject({ code: 0 });
  };
  const sysctl = (value: number): Promise<void> => run("sh", "-c", `echo ${value} >/proc/sys/net/ipv4/ip_default_ttl`);

  test.for<[string, () => Promise<void>, () => Promise<void>, RegExp]>([
    ["a kernel setting", () => sysctl(65), () => sysctl(64), /^setting net\/ipv4\/ip_default_ttl: "64" became "65"$/],
    [
      "a firewall table",
      () => run("nft", "add", "table", "inet", "planted"),
      () => run("nft", "delete", "table", "inet", "planted"),
      /^firewall of others: .*planted/,
    ],
    [
      "an address",
      () => run("ip", "addr", "add", "192.0.2.77/32", "dev", "lo"),
      () => run("ip", "addr", "del", "192.0.2.77/32", "dev", "lo"),
      /^links, addresses and routes: .*192\.0\.2\.77/,
    ],
    ["a mount", () => run("mount", "-t", "tmpfs", "planted", "/mnt"), () => run("umount", "/mnt"), /^mounts: .*\/mnt /],
    [
      "a file",
      async () => writeFileSync(join(world.machine.sentinel, "planted"), ""),
      async () => rmSync(join(world.machine.sentinel, "planted")),
      /^file .*\/sentinel\/planted: nothing became/,
    ],
  ])("sees %s", async ([, change, undo, expected]) => {
    await change();
    const seen = changes(before, await snapshot(world.box));
    await undo();
    expect(seen).toContainEqual(expect.stringMatching(expected));
    expect(changes(before, await snapshot(world.box)).filter((each) => expected.test(each))).toEqual([]);
  });

  test("sees a listening socket", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const seen = changes(before, await snapshot(world.box));
    await new Promise((resolve) => server.close(resolve));
    expect(seen).toContainEqual(expect.stringContaining(`127.0.0.1:${port}`));
  });

  test("sees nothing where nothing has changed", async () => {
    const [first, second] = [await snapshot(world.box), await snapshot(world.box)];
    expect(changes(first, second)).toEqual([]);
  });
});
