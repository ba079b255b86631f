import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BoxOnMachine } from "./box-on-machine.ts";
import { enterNetworkOf } from "./enter-network.ts";
import { Machine } from "./machine.ts";
import { changes, type Snapshot, snapshot } from "./monitor.ts";
import { noWorld } from "./why-no-world.ts";

/**
 * All attack tests rely on the monitor: they miss every change that the monitor misses. This file uses a separate machine, because
 * other files compare the state of the shared one.
 */
describe.skipIf(noWorld)("the monitor of the machine", () => {
  const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-security-"));
  let processes: ChildProcess[];
  let machine: Machine;
  let box: BoxOnMachine;
  let before: Snapshot;
  beforeAll(async () => {
    ({ machine, processes } = await Machine.start(folder));
    enterNetworkOf(machine.pid);
    box = new BoxOnMachine(machine, folder);
    mkdirSync(box.dataDir);
    // The monitor needs no running box: any process can take its place.
    writeFileSync(join(box.dataDir, "box.json"), JSON.stringify({ pid: machine.pid }));
    before = await snapshot(box, { isAlone: true });
  });
  afterAll(() => {
    for (const child of processes ?? []) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (...[program, ...words]: [string, ...string[]]): Promise<void> => {
    expect(await machine.run(program, ...words)).toMatchObject({ code: 0 });
  };
  const sysctl = (value: number): Promise<void> => run("sh", "-c", `echo ${value} >/proc/sys/net/ipv4/ip_default_ttl`);

  test.for<[string, () => Promise<void>, () => Promise<void>, RegExp]>([
    ["a kernel setting", () => sysctl(65), () => sysctl(64), /^setting net\/ipv4\/ip_default_ttl: "64" became "65"$/],
    [
      "a firewall table",
      () => run("nft", "add", "table", "inet", "planted"),
      () => run("nft", "delete", "table", "inet", "planted"),
      /^firewall tables that are not the box's: .*planted/,
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
      async () => writeFileSync(join(machine.sentinel, "planted"), ""),
      async () => rmSync(join(machine.sentinel, "planted")),
      /^file .*\/sentinel\/planted: nothing became/,
    ],
  ])("sees %s", async ([, change, undo, expected]) => {
    await change();
    const seen = changes(before, await snapshot(box, { isAlone: true }));
    await undo();
    expect(seen).toContainEqual(expect.stringMatching(expected));
    expect(changes(before, await snapshot(box, { isAlone: true })).filter((each) => expected.test(each))).toEqual([]);
  });

  test("reports a listening socket", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const seen = changes(before, await snapshot(box, { isAlone: true }));
    await new Promise((resolve) => server.close(resolve));
    expect(seen).toContainEqual(expect.stringContaining(`127.0.0.1:${port}`));
  });

  test("reports nothing if nothing has changed", async () => {
    const [first, second] = [await snapshot(box, { isAlone: true }), await snapshot(box, { isAlone: true })];
    expect(changes(first, second)).toEqual([]);
  });
});
