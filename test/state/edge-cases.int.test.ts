import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type SandboxSpec, sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods, volumeClaims } from "../../packages/node/src/resources.ts";
import { cannotRun, namespace, podOf, StateBox, soon } from "./state-box.ts";
import { askIn, witnessPod } from "./witness.ts";

/** `make test-state-long` sets 2048. */
const mebibytes = Number(process.env["STATE_MEMORY_MIB"] ?? 64);
const program = readFileSync(join(import.meta.dirname, "kernel-objects.py"), "utf8");

describe.skipIf(cannotRun)("saved memory of unusual Pods", { concurrent: true, timeout: 900_000 }, () => {
  let box: StateBox;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  test(`${mebibytes} MiB of memory, 10,000 open files, 1,000 threads and other kernel objects`, async () => {
    const sizes = [mebibytes, 10_000, 1000].map(String);
    const podTemplate = podOf(["python3", "-c", program, ...sizes], {
      readinessProbe: { httpGet: { port: 8000, path: "/" }, periodSeconds: 1 },
      // gVisor copies up to 2 MiB when a page that was shared with a forked process changes.
      resources: { limits: { memory: `${2 * mebibytes + 1024}Mi` } },
    });
    await box.create("objects", { podTemplate });
    await box.until("objects", "Ready", sandboxes, 300_000);
    await box.suspend("objects");
    await box.resume("objects");
    const used = JSON.parse(await box.get("objects", 8000, "/use")) as Record<string, unknown>;
    const { wall_clock: clock, ...works } = used;
    expect(works).toEqual({
      memory: true,
      inotify: true,
      epoll: true,
      timers: true,
      pseudo_terminal: true,
      udp_sockets: true,
      ipv6_sockets: true,
      half_closed_sockets: true,
      shared_memory: true,
      file_locks: true,
      open_files: true,
      threads: true,
    });
    expect(Math.abs(Number(clock) * 1000 - Date.now())).toBeLessThan(60_000);
  });

  test("several containers, a sidecar and a finished init container, in a resumed Sandbox and in a fork", async () => {
    await box.run("several", { podTemplate: several });
    await box.suspend("several");
    await box.resume("several");
    await box.snapshot("several", "several");
    await box.run("several-fork", { podTemplate: several, restoreFrom: { snapshotRef: { name: "several" } } });
    expect(await startsIn(box, "several-fork")).toEqual(await startsIn(box, "several"));
    for (const name of ["several", "several-fork"]) {
      expect(await box.shell(name, "cat /shared/prepared; hostname")).toBe(`once\n${name}`);
      const { status } = await box.client.get(pods, { namespace, name });
      const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
      expect(statuses.map((one) => [one.name, one.restartCount, one.ready])).toEqual([
        ["prepare", 0, true],
        ["side", 0, true],
        ["main", 0, true],
        ["second", 0, true],
      ]);
    }
  });

  test("sessions that are open during a suspension end with the reason", async ({ expect }) => {
    await box.run("session", { podTemplate: podOf(["cat"], { stdin: true }) });
    const ended = Promise.all(
      [box.shell("session", "sleep 1000"), box.attach("session")].map((one) =>
        one.catch((error: unknown) => String(error)),
      ),
    );
    await expect.poll(() => box.shell("session", "pgrep -c sleep || true"), soon).toBe("1");
    await box.suspend("session");
    for (const said of await ended) expect(said).toContain("The session has ended: the Pod was suspended");
  });

  test("a command that was changed during the sleep is reported, and the saved memory is not used for it", async ({
    expect,
  }) => {
    const changed = podOf(["sleep", "infinity"]);
    await box.run("changed", { podTemplate: witnessPod, suspendPolicy: { depth: "Memory", fallback: "Allow" } });
    await box.run("refused", { podTemplate: witnessPod });
    const { identity } = await askIn(box, "refused");
    await Promise.all(["changed", "refused"].map((name) => box.suspend(name)));
    await box.resume("changed", { podTemplate: changed });
    expect(await box.condition("changed", "Restored")).toMatchObject({ status: "False", reason: "RestoreFailed" });
    expect(await box.shell("changed", "cat /proc/1/cmdline; ls /root")).toMatch(/^sleep\0infinity.*count$/s);
    await box.change("refused", { operatingMode: "Running", podTemplate: changed });
    await expect.poll(async () => (await box.condition("refused", "Ready"))?.reason, soon).toBe("RestoreFailed");
    // With the old command again, the memory is still there.
    await box.change("refused", { operatingMode: "Suspended", podTemplate: witnessPod });
    await box.until("refused", "Suspended");
    await box.resume("refused");
    expect((await askIn(box, "refused")).identity).toBe(identity);
  });

  test("a claim that was deleted during the sleep is reported", async ({ expect }) => {
    const volumeClaimTemplates = [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ] as NonNullable<SandboxSpec["volumeClaimTemplates"]>;
    const podTemplate = podOf(["sh", "-c", "exec 3>/data/open; while :; do sleep 1; done"], {
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    });
    await box.run("claiming", { podTemplate, volumeClaimTemplates });
    await box.suspend("claiming");
    const [claim] = (await box.client.list(volumeClaims, { namespace })).items.filter(({ metadata }) =>
      metadata?.name?.includes("claiming"),
    );
    await box.client.delete(volumeClaims, { namespace, name: claim?.metadata?.name ?? "" });
    await box.change("claiming", { operatingMode: "Running" });
    await expect.poll(async () => (await box.condition("claiming", "Ready"))?.reason, soon).toBe("RestoreFailed");
  });
});

/** Counts in memory from a random number on, and shows that number in a file. */
const counter = (file: string): string =>
  `start=$(od -An -N8 -tx8 /dev/urandom); while :; do echo $start > /shared/.${file}; mv /shared/.${file} /shared/${file}; sleep 0.1; done`;
const member = (name: string, command: string) => ({
  name,
  image: "host",
  command: ["sh", "-c", command],
  volumeMounts: [{ name: "shared", mountPath: "/shared" }],
});
const several = {
  spec: {
    terminationGracePeriodSeconds: 1,
    initContainers: [
      member("prepare", "echo once >> /shared/prepared"),
      { ...member("side", counter("side")), restartPolicy: "Always" },
    ],
    containers: [member("main", counter("main")), member("second", counter("second"))],
    volumes: [{ name: "shared", emptyDir: {} }],
  },
} as SandboxSpec["podTemplate"];

/** The numbers that the containers have in memory. */
async function startsIn(box: StateBox, name: string): Promise<string[]> {
  // Files of before must be written again.
  const script =
    "cd /shared; rm -f side main second; until [ -e side ] && [ -e main ] && [ -e second ]; do sleep 0.1; done; cat side main second";
  return (await box.shell(name, script)).split("\n");
}
