import { spawnSync } from "node:child_process";
import { statfsSync, watch } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf } from "../../src/layout.ts";
import { mountTmpfs, unmount } from "../../src/system/mounts.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, conditionOf, imagesIn, makeSandbox } from "./saved-pods.ts";

const withMemory = (mebibytes: number) => ({
  containers: [
    {
      name: "main",
      image: "host",
      command: ["sh", "-c", `head -c ${mebibytes}M /dev/urandom > /dev/shm/filled; exec sleep infinity`],
      readinessProbe: { exec: { command: ["sh", "-c", "pgrep sleep"] }, periodSeconds: 1 },
    },
  ],
});

/** Answers lifecycle events as sandboxd does, and logs them. Uses much memory. */
const daemon = `
import http.server, os
filled = os.urandom(50 << 20)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.path, flush=True)
        self.send_response(200); self.end_headers()
        failures = b'["exit status 1"]' if "after-resume" in self.path else b"[]"
        self.wfile.write(b'{"epoch": 0, "expired": false, "failures": %b}' % failures)
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
`;

const withHooks = {
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", daemon],
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      volumeMounts: [{ name: "agent-sandbox-token", mountPath: "/token" }],
    },
  ],
  volumes: [{ name: "agent-sandbox-token", secret: { secretName: "token" } }],
};

describe.skipIf(cannotRun)("limits of saved memory", () => {
  let box: TestBox;
  /** A small filesystem in memory, with the data folder. */
  let disk: string;
  let dataDir: string;
  /** The lifecycle events of the last Pod that was not saved. */
  let hooks: string[];

  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), "node-int-"));
    mountTmpfs(disk, { sizeBytes: 512 * 2 ** 20, mode: 0o700 });
    dataDir = join(disk, "data");
    const budget = { diskFreeBytes: 0, inodesFree: 0 };
    box = await openTestBox({ dataDir, budget, state: { images: 1, bytesPerNamespace: 100 * 2 ** 20 } });
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await unmount([disk]);
    await rm(disk, { recursive: true, force: true });
  });

  async function expectRefusal(name: string, spec: object): Promise<string> {
    const sandbox = await makeSandbox(box, name, spec);
    await sandbox.start();
    const refused = await sandbox.save();
    expect(answerOf(refused, "agents.x-k8s.io/Saved")).toBe("QuotaExceeded");
    await box.api.until(name, isReady);
    expect(await box.shell(name, "echo here")).toBe("here");
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);
    hooks = (await box.log(name)).split("\n").filter((line) => line.startsWith("/v1/lifecycle/"));
    await sandbox.remove();
    return conditionOf(refused, "agents.x-k8s.io/Saved")?.message ?? "";
  }

  test.for([0, 64, 8192])("a Pod continues when the disk is full after %i KiB of its image", async (kibibytes) => {
    const filler = join(disk, "filler");
    const sandbox = `full-${kibibytes}`;
    const made = await makeSandbox(box, sandbox, withMemory(20));
    await made.start();
    // The disk fills when the save has begun: the node has found enough room before.
    const images = join(layoutOf(dataDir).stateDir, "suspensions", made.uid);
    await mkdir(images, { recursive: true });
    const watcher = watch(images);
    watcher.once("change", () => {
      const { bavail, bsize } = statfsSync(disk);
      const filled = spawnSync("fallocate", ["--length", String(bavail * bsize - kibibytes * 1024), filler]);
      expect(filled.status).toBe(0);
    });
    const refused = await made.save();
    watcher.close();
    await box.api.until(sandbox, isReady);
    await rm(filler);
    expect(conditionOf(refused, "agents.x-k8s.io/Saved")?.message).toMatch(/no space left|ENOSPC/);
    expect(answerOf(refused, "agents.x-k8s.io/Saved")).toBe("QuotaExceeded");
    expect(await box.shell(sandbox, "stat -c %s /dev/shm/filled")).toBe(String(20 * 2 ** 20));
    expect(await imagesIn(box, made.uid)).toEqual([]);
    await made.remove();
  });

  test("an image that is too large is refused after its size is known, and the hooks of both sides run", async () => {
    await box.putSecret("token", { token: "abc" });
    expect(await expectRefusal("large", withHooks)).toMatch(/bytes/);
    expect(hooks).toEqual(["/v1/lifecycle/before-suspend", "/v1/lifecycle/after-resume"]);
    expect(box.events("large")).toContain("HookFailed: exit status 1");
  });

  test("a full store is refused", async () => {
    const first = await makeSandbox(box, "first", {});
    await first.start();
    expect(answerOf(await first.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await first.remove();
    expect(await expectRefusal("second", {})).toContain("this node has its 1 images already");
  });
});
