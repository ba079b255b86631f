import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../packages/node/src/resources.ts";
import { cannotRun, podOf, StateBox, soon } from "./state-box.ts";

const server = `
import http.server, os
class Counter(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Counter.count += 1
        body = f"{Counter.count} {os.getpid()}".encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("", 8000), Counter).serve_forever()
`;

const podTemplate = podOf(["python3", "-c", server], {
  readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
});

describe.skipIf(cannotRun)("a sandbox that sleeps with its memory", { timeout: 180_000 }, () => {
  let box: StateBox;

  beforeAll(async () => {
    box = await StateBox.start("--state-limit", "images=2");
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 120_000);

  /** How many requests the program in a sandbox has answered. */
  const count = async (name: string): Promise<number> => Number((await box.get(name)).split(" ")[0]);

  test("a suspended program continues where it was", async () => {
    await box.run("memory", { podTemplate });
    expect([await count("memory"), await count("memory")]).toEqual([1, 2]);
    await box.suspend("memory");
    expect((await box.read("memory")).status).toMatchObject({ suspension: { depth: "Memory" } });
    expect(await box.exists(pods, "memory")).toBe(false);
    await box.resume("memory");
    expect(await count("memory")).toBe(3);
    expect((await box.read("memory")).status).toMatchObject({ suspension: { epoch: 1, restored: "Memory" } });
  });

  test("idle sandboxes are saved until the store is full, a request wakes them, and the others are saved later", async () => {
    const names = ["idle-0", "idle-1", "idle-2"];
    await Promise.all(names.map((name) => box.run(name, { podTemplate, idlePolicy: { suspendAfterSeconds: 10 } })));
    expect(await Promise.all(names.map(count))).toEqual([1, 1, 1]);
    const withReason = async (reason: string): Promise<string[]> => {
      const found = await Promise.all(names.map((name) => box.condition(name, "Suspended")));
      return names.filter((_, index) => found[index]?.reason === reason);
    };
    await expect.poll(() => withReason("QuotaExceeded"), soon).toHaveLength(1);
    await expect.poll(() => withReason("Idle"), soon).toHaveLength(2);
    const [[running = ""], [first = "", second = ""]] = [await withReason("QuotaExceeded"), await withReason("Idle")];
    expect(await count(running)).toBe(2);
    await box.delete(first);
    await box.until(running, "Suspended");
    expect([await count(running), await count(second)]).toEqual([3, 2]);
    await Promise.all([running, second].map((name) => box.delete(name)));
  });

  test("a runtime that cannot save falls back to the files, and says so", async () => {
    const onRunc = { spec: { ...podTemplate.spec, runtimeClassName: "runc" } };
    await box.run("files", { podTemplate: onRunc, suspendPolicy: { depth: "Memory", fallback: "Allow" } });
    expect(await count("files")).toBe(1);
    await box.suspend("files");
    expect((await box.read("files")).status).toMatchObject({ suspension: { depth: "Filesystem" } });
    expect((await box.condition("files", "Suspended"))?.message).toContain("cannot save");
    await box.resume("files");
    expect(await count("files")).toBe(1);
  });

  test("a box that is killed after it has saved a sandbox restores it", async () => {
    await box.run("killed", { podTemplate });
    expect(await count("killed")).toBe(1);
    await box.suspend("killed");
    process.kill(box.box.pid(), "SIGKILL");
    expect((await box.box.up("--state-limit", "images=2")).code).toBe(0);
    await box.resume("killed");
    expect(await count("killed")).toBe(2);
  });
});
