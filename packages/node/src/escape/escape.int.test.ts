import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf, podPaths } from "../layout.ts";
import { detectCgroups } from "../system/cgroups.ts";
import { isReady } from "../testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";
import { attempts } from "./attempts.ts";

const canary = "canary-of-the-box-0b5c1d";
/** Half of it at a time: what looks for it must not find itself. */
const writeCanary = `printf %s canary-of- >/secret; printf %s the-box-0b5c1d >>/secret; exec sleep 31337`;

describe.for(["runc", "gvisor"] as const)("a sandbox under %s cannot be left", (runtime) => {
  let box: TestBox;
  let otherPid: number;

  beforeAll(async () => {
    box = await openTestBox({
      defaultRuntime: runtime,
      defaults: { pids: 300, diskBytes: 50_000_000 },
      diskCheckMs: 500,
    });
    await writeFile(join(box.dataDir, "canary"), canary);
    await box.create("other", {
      spec: { containers: [{ name: "main", image: "host", command: ["sh", "-c", writeCanary] }] },
    });
    await box.create("jail", {});
    const [other] = await Promise.all([box.api.until("other", isReady), box.api.until("jail", isReady)]);
    const record = join(box.dataDir, "node/pods", other.metadata?.uid ?? "", "pod.json");
    otherPid = JSON.parse(await readFile(record, "utf8")).containers.main.run.process.pid;
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  /** Whoever tried whatever: the others and the box are as they were. */
  const expectOthersWell = async (): Promise<void> => {
    expect(await box.shell("other", "cat /secret; cat /proc/1/cmdline | tr '\\0' ' '")).toBe(
      `${canary}sleep 31337 `.trim(),
    );
    expect(statusOf(box.api.read("other"))?.restartCount).toBe(0);
  };

  test("by reading, mounting, loading, writing, looking or sending", async () => {
    const before = await machineState();
    const tried = attempts({ dataDir: box.dataDir, canary, otherPid }).filter(
      ({ only }) => only === undefined || only === runtime,
    );
    const results: { name: string; said: string }[] = [];
    for (const { name, script } of tried) results.push({ name, said: await box.shell("jail", script) });
    expect(results).toEqual(tried.map(({ name, expected }) => ({ name, said: expect.stringMatching(expected) })));
    expect(await machineState()).toEqual(before);
    await expectOthersWell();
  });

  test("to the machine's ports, to another Pod's, or to the address where clouds keep their secrets", async () => {
    const jail = box.api.read("jail");
    const gateway = (jail?.status?.podIP ?? "").replace(/\.\d+$/, ".1");
    await using listener = createServer().listen(0, "0.0.0.0");
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    const targets = [gateway, jail?.status?.hostIP, box.api.read("other")?.status?.podIP, "169.254.169.254"];
    const script = `
import socket
for host in ${JSON.stringify(targets)}:
    try: socket.create_connection((host, ${port}), 0.5); print("reached", host)
    except OSError: pass`;
    expect(await box.shell("jail", `python3 -c '${script}'`)).toBe("");
  });

  test("by processes without end", async () => {
    const script =
      "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: time.sleep(1000)\n  except OSError: time.sleep(0.01)";
    await box.create("bomb", {
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "main", image: "host", command: ["python3", "-c", script] }],
      },
    });
    await box.api.until("bomb", (pod) => isReady(pod) || pod?.status?.phase === "Failed");
    const { uid = "" } = box.api.read("bomb")?.metadata ?? {};
    expect(["at its limit", "dead"]).toContain(await outcome(box, uid));
    await expectOthersWell();
    await box.remove("bomb", 0);
  });

  test("by memory without end", async () => {
    const script = "b = []\nwhile True: b.append(bytearray(10**7))";
    const resources = { limits: { memory: "200Mi" } };
    await box.create("glutton", {
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "main", image: "host", command: ["python3", "-c", script], resources }],
      },
    });
    const pod = await box.api.until("glutton", (one) => one?.status?.phase === "Failed");
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ reason: "OOMKilled" });
    await expectOthersWell();
    await box.remove("glutton", 0);
  });

  test("by files without end", async () => {
    await box.create("hoarder", {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            image: "host",
            command: ["sh", "-c", "while cat /usr/bin/python3 >>/file; do sleep 0.01; done"],
          },
        ],
      },
    });
    const pod = await box.api.until("hoarder", (one) => one?.status?.phase === "Failed");
    expect(pod.status).toMatchObject({ reason: "Evicted" });
    await expectOthersWell();
    await box.remove("hoarder", 0);
  });
});

/** What of the machine a sandbox that got out would have changed. A kernel without modules has not all of it. */
async function machineState(): Promise<Record<string, string>> {
  const files = [
    "sys/kernel/core_pattern",
    "sys/kernel/panic",
    "sys/kernel/modprobe",
    "sys/fs/suid_dumpable",
    "modules",
  ];
  const values = await Promise.all(files.map((file) => readFile(`/proc/${file}`, "utf8").catch(() => "")));
  // A module's line also counts who uses it, which changes by itself.
  const names = (text: string): string => text.replaceAll(/^(\S+) .*$/gm, "$1");
  return Object.fromEntries(files.map((file, index) => [file, names(values[index] ?? "")]));
}

/** Waits until a Pod's control group has refused a process, or the Pod has died of it. */
async function outcome(box: TestBox, uid: string): Promise<"at its limit" | "dead"> {
  const cgroups = await detectCgroups();
  const file = join(cgroups.processFolder(podPaths(layoutOf(box.dataDir), uid).cgroup), "main", "pids.events");
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    const refusals = Number(/^max (\d+)/m.exec(text ?? "")?.[1] ?? 0);
    if (refusals > 0) return "at its limit";
    if (box.api.read("bomb")?.status?.phase === "Failed") return "dead";
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
