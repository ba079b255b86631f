import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changes, snapshot } from "./monitor.ts";
import type { Tenant } from "./tenant.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

/** Opens inotify instances until the kernel refuses, prints their number, and keeps them. */
const hoard = `
import ctypes, time
libc = ctypes.CDLL(None)
count = 0
while libc.inotify_init1(0) >= 0: count += 1
print(count, flush=True)
time.sleep(3600)`;

const oneInstance = `python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init1(0) >= 0)'`;

/** Root of a container that shares the machine's kernel. */
describe.skipIf(noWorld)("root under runc", () => {
  let world: World;
  let mallory: Tenant;

  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    await mallory.runPod("root", { runtime: "runc" });
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("is not the machine's root, and two Pods share no user", async () => {
    await mallory.runPod("other", { runtime: "runc" });
    const maps = await Promise.all(["root", "other"].map((name) => mallory.shell(name, "cat /proc/self/uid_map")));
    const [one, other] = maps.map((text) => text.trim().split(/\s+/).map(Number));
    expect([one?.[0], one?.[2], other?.[0], other?.[2]]).toEqual([0, 65_536, 0, 65_536]);
    expect(Math.min(one?.[1] ?? 0, other?.[1] ?? 0)).toBeGreaterThan(65_536);
    expect(Math.abs((one?.[1] ?? 0) - (other?.[1] ?? 0))).toBeGreaterThanOrEqual(65_536);
  });

  test("cannot get the machine's users by requesting them", async () => {
    await mallory.createPod("asks", { runtime: "runc", spec: { hostUsers: true } });
    const refused = (pod: { status?: object }): boolean => JSON.stringify(pod.status ?? {}).includes("hostUsers");
    expect(JSON.stringify(await mallory.podUntil("asks", refused))).toContain(
      "spec.hostUsers: true is not allowed by this node's configuration",
    );
    await mallory.removePod("asks");
  });

  test("sees neither the paths of the box's files nor the Pods of others", async () => {
    const seen = await mallory.shell("root", "cat /proc/self/mountinfo /proc/mounts /proc/1/mountinfo");
    expect(seen).toContain(" /etc/hosts ");
    expect(seen).not.toContain(world.box.dataDir);
    expect(seen).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  test("cannot use up the inotify instances of the box, of the machine or of others", async () => {
    const most = (await readFile("/proc/sys/fs/inotify/max_user_instances", "utf8")).trim();
    await mallory.shell(
      "root",
      `python3 -c '${hoard}' </dev/null >/tmp/count 2>&1 & until [ -s /tmp/count ]; do sleep 0.1; done`,
    );
    expect(await mallory.shell("root", "cat /tmp/count")).toBe(most);
    expect((await world.machine.run("sh", "-c", oneInstance)).stdout.trim()).toBe("True");
    await mallory.runPod("later", { runtime: "runc" });
    expect(await mallory.shell("later", oneInstance)).toBe("True");
    expect(await world.alice.harm()).toEqual([]);
  });

  test("cannot change settings of its network or of the machine, mount, or become a user it does not have", async () => {
    const before = await snapshot(world.box);
    const attempts = [
      "echo 1 > /proc/sys/net/ipv4/ip_forward",
      "mount -o remount,rw /proc/sys",
      "mount -t tmpfs none /mnt",
      "unshare --user --map-root-user --net true",
      "ip link set eth0 address 02:00:00:00:00:01",
      "ip addr add 10.0.0.1/8 dev eth0",
      "mknod /tmp/disk b 254 0",
      "chroot / true",
      "setpriv --reuid=70000 true",
    ];
    const outcomes: string[] = [];
    for (const attempt of attempts) {
      if ((await mallory.exec("root", attempt)).code === 0) outcomes.push(attempt);
    }
    expect(outcomes).toEqual([]);
    expect(changes(before, await snapshot(world.box))).toEqual([]);
  });
});
