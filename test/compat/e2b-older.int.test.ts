import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import type { Loose } from "./loose.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The last release before the clients changed to the second generation of create and connect. It checks the form of keys. */
const older = { e2b: "2.45.0" };

describe.skipIf(reason !== undefined)("an older JavaScript client of E2B", () => {
  let box: CompatBox;
  let e2b: Loose;
  let options: Readonly<Record<string, unknown>>;
  let sandbox: Loose;
  let recorder: Server | undefined;
  /** To the control API. */
  const requests: string[] = [];

  beforeAll(async () => {
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    e2b = (await available(npmPackages(older, { isPinned: true }), { skip }))("e2b");
    box = await CompatBox.start();
    recorder = createServer((incoming, outgoing) => {
      requests.push(`${incoming.method} ${incoming.url}`);
      const { method, headers, url } = incoming;
      const forwarded = request(new URL(url ?? "/", box.url), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on("error", () => outgoing.destroy());
      incoming.pipe(forwarded);
    });
    recorder.listen(0, "127.0.0.1");
    await once(recorder, "listening");
    const { port } = recorder.address() as AddressInfo;
    options = { apiKey: box.key(), apiUrl: `http://127.0.0.1:${port}/e2b`, sandboxUrl: box.url };
    sandbox = await e2b.Sandbox.create({ ...options, timeoutMs: 280_000, metadata: { t: "old" }, envs: { K: "V" } });
  }, 300_000);
  afterAll(async () => {
    recorder?.closeAllConnections();
    recorder?.close();
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  test("creates with the first generation, and runs commands", async () => {
    expect((await sandbox.commands.run("echo $K-$USER")).stdout).toBe("V-user\n");
    await expect(sandbox.commands.run("exit 3")).rejects.toMatchObject({ name: "CommandExitError", exitCode: 3 });
    await e2b.Sandbox.connect(sandbox.sandboxId, options);
    // Otherwise this file would test the same as that of the newer client.
    expect(requests).toEqual(["POST /e2b/sandboxes", `POST /e2b/sandboxes/${sandbox.sandboxId}/connect`]);
  });
  test("writes, reads and watches files", async () => {
    await sandbox.files.write("a/b.txt", "é");
    expect(await sandbox.files.read("a/b.txt")).toBe("é");
    const seen: string[] = [];
    const watch = await sandbox.files.watchDir("a", ({ name }: Loose) => seen.push(name));
    await sandbox.files.write("a/new", "x");
    await expect.poll(() => seen).toContain("new");
    await watch.stop();
  });
  test("pauses, connects, moves the deadline and lists", async () => {
    await sandbox.setTimeout(300_000);
    await sandbox.pause();
    expect((await sandbox.getInfo()).state).toBe("paused");
    const again = await e2b.Sandbox.connect(sandbox.sandboxId, options);
    expect(await again.files.read("a/b.txt")).toBe("é");
    const found = await e2b.Sandbox.list({ ...options, query: { metadata: { t: "old" } } }).nextItems();
    expect(found.map(({ sandboxId }: Loose) => sandboxId)).toEqual([sandbox.sandboxId]);
  });
  test("kills", async () => {
    expect([await sandbox.kill(), await sandbox.kill(), await sandbox.isRunning()]).toEqual([true, false, false]);
  });
});
