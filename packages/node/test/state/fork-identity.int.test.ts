import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { snapshotFolder } from "../../src/state/snapshot-store.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, makeSandbox } from "./saved-pods.ts";
import { bareSandbox, failureOf, takeSnapshot } from "./snapshots.ts";

/** Answers lifecycle events as sandboxd does. Its hook takes a second. If told to, it cannot stop a process. */
const daemon = `
import http.server, json, os, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        if self.path.endswith("after-fork"):
            time.sleep(1)
            open("/shared/renewed", "w").write("renewed")
        stops = self.path.endswith("before-snapshot") and os.path.exists("/shared/unstoppable")
        failures = ["cannot stop 1 processes"] if stops else []
        self.send_response(200); self.end_headers()
        self.wfile.write(json.dumps({"epoch": 0, "expired": False, "failures": failures}).encode())
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
`;

/** Says again and again whether the hook has run, in two processes. */
const loop = "while :; do cat /shared/renewed 2>/dev/null || echo old; echo; sleep 0.02; done";

const shared = { name: "shared", mountPath: "/shared" };
const spec = {
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", daemon],
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      volumeMounts: [shared, { name: "agent-sandbox-token", mountPath: "/token" }],
    },
    { name: "side", image: "host", command: ["sh", "-c", `(${loop}) & ${loop}`], volumeMounts: [shared] },
  ],
  volumes: [
    { name: "shared", emptyDir: {} },
    { name: "agent-sandbox-token", secret: { secretName: "token" } },
  ],
};

describe.skipIf(cannotRun)("forks of a Pod with sandboxd and another container", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
    await box.putSecret("token", { token: "abc" });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const said = async (pod: string): Promise<string[]> =>
    (await box.log(pod, "side")).split("\n").filter((line) => line !== "");

  test("no process of any container continues before the fork has its identity", async () => {
    const source = await bareSandbox(box, "source", { spec });
    await source.start();
    const snapshot = await takeSnapshot(box, "first", "source");
    expect(failureOf(snapshot)).toBeUndefined();
    const before = (await said("source")).length;
    await expect.poll(async () => (await said("source")).length, soon).toBeGreaterThan(before + 4);

    const fork = await bareSandbox(box, "fork", { spec, restoreFrom: { snapshotRef: { name: "first" } } });
    expect(answerOf(await fork.restore(snapshot.metadata.uid ?? ""), "PodRestored")).toBe("True");
    await expect.poll(async () => (await said("fork")).length, soon).toBeGreaterThan(4);
    // Each process may have looked for the file right before it was stopped.
    expect((await said("fork")).filter((line) => line === "old").length).toBeLessThanOrEqual(2);
    expect(await said("source")).not.toContain("renewed");
    await box.remove("fork");
  });

  test("a snapshot without the file of the identity makes no fork", async () => {
    const source = await bareSandbox(box, "older", { spec });
    await source.start();
    const snapshot = await takeSnapshot(box, "without", "older");
    expect(failureOf(snapshot)).toBeUndefined();
    const { uid = "" } = snapshot.metadata;
    // As in a snapshot of a Pod that an earlier version of the node has started.
    const path = join(snapshotFolder(layoutOf(box.dataDir), uid), "meta.json");
    const meta = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...meta, identity: false }));
    const fork = await bareSandbox(box, "nobody", { spec, restoreFrom: { snapshotRef: { name: "without" } } });
    const pod = await fork.restore(uid);
    expect(answerOf(pod, "PodRestored")).toBe("RestoreFailed");
    expect(conditionOf(pod, "PodRestored")?.message).toContain("Restart that Sandbox and take another one");
    await Promise.all([box.remove("nobody"), box.remove("older")]);
  });

  test("processes of a fork stop before its hook runs if the source was suspended", async () => {
    const source = await makeSandbox(box, "sleeper", spec);
    await source.start();
    expect(answerOf(await source.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await source.remove();
    const snapshot = await takeSnapshot(box, "asleep", "sleeper");
    expect(failureOf(snapshot)).toBeUndefined();
    const fork = await bareSandbox(box, "late", { spec, restoreFrom: { snapshotRef: { name: "asleep" } } });
    expect(answerOf(await fork.restore(snapshot.metadata.uid ?? ""), "PodRestored")).toBe("True");
    const events = (await box.log("late", "main")).matchAll(/POST \/v1\/lifecycle\/(\S+)/g);
    expect([...events].map(([, event]) => event)).toEqual(["before-snapshot", "after-fork"]);
    await expect.poll(() => said("late"), soon).toContain("renewed");
    await box.remove("late");
  });

  test("there is no snapshot if a process cannot be stopped, and the source continues", async () => {
    await box.shell("source", "touch /shared/unstoppable");
    const snapshot = await takeSnapshot(box, "second", "source");
    expect(failureOf(snapshot)).toBe("SaveFailed");
    const failed = snapshot.status?.conditions?.find(({ type }) => type === "Failed");
    expect(failed?.message).toContain("cannot stop 1 processes");
    const before = (await said("source")).length;
    await expect.poll(async () => (await said("source")).length, soon).toBeGreaterThan(before + 4);
  });
});
