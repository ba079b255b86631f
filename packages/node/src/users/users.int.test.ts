import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun } from "../testing/runtimes.ts";
import { isReady } from "../testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";

/** Opens inotify instances until the kernel refuses, prints their number, and keeps them. */
const hoard = `
import ctypes, time
libc = ctypes.CDLL(None)
count = 0
while libc.inotify_init1(0) >= 0: count += 1
print(count, flush=True)
time.sleep(3600)`;

const runtimeClassName = "runc";

describe.skipIf(cannotRun)("a Pod that shares the machine's kernel", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ allow: { hostUsers: true } });
    await box.create("one", { spec: { runtimeClassName } });
    await box.create("two", { spec: { runtimeClassName } });
    await Promise.all(["one", "two"].map((name) => box.api.until(name, isReady)));
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const firstOf = async (pod: string): Promise<number> => {
    const [inside, outside, count] = (await box.shell(pod, "cat /proc/self/uid_map")).trim().split(/\s+/).map(Number);
    expect([inside, count]).toEqual([0, 65_536]);
    return outside ?? 0;
  };

  const processOf = async (pod: string): Promise<string> => {
    const { uid = "" } = box.api.read(pod)?.metadata ?? {};
    const record = JSON.parse(await readFile(join(box.dataDir, "node/pods", uid, "pod.json"), "utf8"));
    return readFile(`/proc/${record.containers.main.run.process.pid}/status`, "utf8");
  };

  test("has its own users: its root is neither the machine's root nor that of another Pod", async () => {
    const [one, two] = [await firstOf("one"), await firstOf("two")];
    expect(Math.abs(one - two)).toBeGreaterThanOrEqual(65_536);
    expect(await processOf("one")).toMatch(new RegExp(`^Uid:\t${one}\t${one}\t${one}\t${one}$`, "m"));
    expect(await processOf("one")).toMatch(new RegExp(`^Gid:\t${one}\t`, "m"));
  });

  test("has its own per-user limits of the kernel", async () => {
    const most = Number(await readFile("/proc/sys/fs/inotify/max_user_instances", "utf8"));
    await box.create("hoarder", {
      spec: { runtimeClassName, containers: [{ name: "main", image: "host", command: ["python3", "-c", hoard] }] },
    });
    await box.api.until("hoarder", isReady);
    await expect.poll(() => box.log("hoarder"), { timeout: 30_000 }).toBe(`${most}\n`);
    // Another Pod and the machine's root can still use all of theirs.
    expect(await box.shell("two", `python3 -c 'import ctypes; print(ctypes.CDLL(None).inotify_init1(0) >= 0)'`)).toBe(
      "True",
    );
    await box.remove("hoarder", 0);
  });

  test("has files on the disk with the ids they have inside the Pod", async () => {
    const script =
      "touch /root-file; chown 1234:4321 /root-file; rm /etc/hosts 2>/dev/null; rm -r /srv; mkdir /srv; stat -c %u:%g /root-file";
    expect(await box.shell("one", script)).toBe("1234:4321");
    expect(await box.shell("one", "stat -c %u:%g /srv /etc/passwd | sort -u")).toBe("0:0");
  });

  test("sees the owners inside the Pod in volumes of every kind", async () => {
    await box.putSecret("secret", { key: "value" });
    await box.putConfigMap("config", { key: "value" });
    const paths = ["disk", "memory", "secret", "config", "image", "part"];
    const main: Container = {
      name: "main",
      image: "host",
      volumeMounts: [
        ...paths.slice(0, -1).map((name) => ({ name, mountPath: `/v/${name}` })),
        { name: "disk", mountPath: "/v/part", subPath: "a/b" },
      ],
    };
    await box.create("volumes", {
      spec: {
        runtimeClassName,
        containers: [main],
        volumes: [
          { name: "disk", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory" } },
          { name: "secret", secret: { secretName: "secret", defaultMode: 0o400 } },
          { name: "config", configMap: { name: "config", defaultMode: 0o400 } },
          { name: "image", image: { reference: "host" } } as never,
        ],
      },
    });
    await box.api.until("volumes", isReady);
    expect(await box.shell("volumes", "cd /v; stat -c '%n %u:%g' *")).toBe(
      paths
        .toSorted()
        .map((name) => `${name} 0:0`)
        .join("\n"),
    );
    expect(await box.shell("volumes", "cat /v/secret/key /v/config/key; stat -Lc %u:%a /v/secret/key")).toBe(
      "valuevalue0:400",
    );
    const write =
      "for one in disk memory part; do touch /v/$one/f && chown 7:7 /v/$one/f && stat -c %u:%g /v/$one/f; done";
    expect(await box.shell("volumes", write)).toBe("7:7\n7:7\n7:7");
    await box.remove("volumes", 0);
  });

  test("sees neither the paths of the box's files nor other Pods", async () => {
    const others = ["two", "one"].map((name) => box.api.read(name)?.metadata?.uid ?? "");
    const seen = await box.shell("one", "cat /proc/self/mountinfo /proc/mounts /proc/1/mountinfo");
    expect(seen).toContain("/etc/hosts");
    expect(seen).not.toContain(box.dataDir);
    expect(seen).not.toContain(others[0]);
    await box.shell("one", "echo last >/dev/termination-log; kill 1");
    await box.api.until("one", (pod) => statusOf(pod)?.lastState?.terminated?.message === "last\n");
    await box.api.until("one", isReady);
    expect(await box.shell("one", "cat /etc/hosts")).toContain("one");
  });

  test("may use ids above the common ones", async () => {
    const id = 1_000_650_000;
    const securityContext = { runAsUser: id, runAsGroup: id, fsGroup: id };
    const main: Container = { name: "main", image: "host", volumeMounts: [{ name: "disk", mountPath: "/v" }] };
    await box.create("high", {
      spec: { runtimeClassName, securityContext, containers: [main], volumes: [{ name: "disk", emptyDir: {} }] },
    });
    await box.api.until("high", isReady);
    expect(await box.shell("high", "id -u; id -g; touch /v/f; stat -c %u:%g /v/f")).toBe(`${id}\n${id}\n${id}:${id}`);
    await box.remove("high", 0);
  });

  test("lets users other than root open its standard streams as files", async () => {
    const command = ["sh", "-c", "echo out >/dev/stdout; echo err >/dev/stderr; sleep 3600"];
    const securityContext = { runAsUser: 1000 };
    await box.create("outputs", {
      spec: { runtimeClassName, containers: [{ name: "main", image: "host", command, securityContext }] },
    });
    await box.api.until("outputs", isReady);
    await expect.poll(() => box.log("outputs"), { timeout: 30_000 }).toBe("out\nerr\n");
    await box.remove("outputs", 0);
  });

  test("has the machine's users only if it requests them and the operator allows it", async () => {
    await box.create("hosts", { spec: { runtimeClassName, hostUsers: true } });
    await box.api.until("hosts", isReady);
    expect(await box.shell("hosts", "cat /proc/self/uid_map | tr -s ' '")).toBe(" 0 0 4294967295");
    await box.create("own", { spec: { runtimeClassName, hostUsers: false } });
    await box.api.until("own", isReady);
    expect(await firstOf("own")).toBeGreaterThan(0);
    expect(statusOf(box.api.read("own"))?.ready).toBe(true);
    for (const name of ["hosts", "own"]) await box.remove(name, 0);
  });
});
