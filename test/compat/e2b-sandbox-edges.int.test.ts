import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import { frameOf, messagesOf } from "./connect-frames.ts";
import type { Loose } from "./loose.ts";
import { MemoryOf } from "./memory-of.ts";
import { npmPackages } from "./npm-packages.ts";
import { buildShellImage } from "./shell-image.ts";
import { untilListening, webSocketServer } from "./web-socket-server.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** With COMPAT_LONG=1 the cases have the contract's full times and sizes. */
const isLong = Boolean(process.env["COMPAT_LONG"]);
const longMs = 400_000;

/** Far less than what passes through in the long cases: data is not kept in memory. */
function expectBounded(memory: MemoryOf): void {
  const { box, sandboxd } = memory.growth;
  expect({ box: box < 256 * 2 ** 20, sandboxd: sandboxd < 128 * 2 ** 20 }).toEqual({ box: true, sandboxd: true });
}

/** It has a small disk of its own at `/small`. */
const smallDisk = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name: "small-disk", namespace: "team-a" },
  spec: {
    runtime: "Injected",
    podTemplate: {
      spec: {
        containers: [
          {
            name: "main",
            image: "host",
            env: [
              { name: "SANDBOXD_ROOT_DIR", value: "/" },
              { name: "SANDBOXD_ENSURE_USER", value: "user" },
            ],
            volumeMounts: [{ name: "small", mountPath: "/small" }],
          },
        ],
        volumes: [{ name: "small", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } }],
      },
    },
  },
};

/** Edge cases inside a running sandbox, with E2B's JavaScript clients and plain requests. */
describe.skipIf(reason !== undefined)("E2B's JavaScript clients, at the edges of commands and files", () => {
  let box: CompatBox;
  let e2b: Loose;
  let options: Readonly<Record<string, unknown>>;
  let sandbox: Loose;
  let interpreter: Loose;

  beforeAll(async () => {
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    const load = await available(npmPackages(), { skip });
    e2b = load("e2b");
    box = await CompatBox.start();
    await box.apply(smallDisk);
    options = { apiKey: box.key(), apiUrl: `${box.url}/e2b`, sandboxUrl: box.url, timeoutMs: 1_800_000 };
    [sandbox, interpreter] = await Promise.all([
      e2b.Sandbox.create("small-disk", options),
      load("@e2b/code-interpreter").Sandbox.create(options),
    ]);
  }, 300_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  const run = async (command: string, more?: object): Promise<Loose> => sandbox.commands.run(command, more);
  const headersFor = (of: Loose, port: number, token: string | undefined): Record<string, string> => ({
    "e2b-sandbox-id": of.sandboxId,
    "e2b-sandbox-port": String(port),
    ...(token !== undefined && { "e2b-traffic-access-token": token }),
  });

  test("much output arrives completely (COMPAT-35)", { timeout: longMs }, async () => {
    const size = isLong ? 400_000_000 : 5_000_000;
    const hash = createHash("sha256");
    let length = 0;
    const onStdout = (text: string): void => {
      hash.update(text);
      length += text.length;
    };
    await using memory = await MemoryOf.start(box.box.pid(), run);
    await run(`head -c ${size} /dev/zero | tr '\\0' a`, { onStdout, timeoutMs: 0 });
    if (isLong) expectBounded(memory);
    const whole = createHash("sha256");
    for (let sent = 0; sent < size; sent += 1_000_000) whole.update("a".repeat(1_000_000));
    expect([length, hash.digest("hex")]).toEqual([size, whole.digest("hex")]);
  });

  test("a silent command is kept alive (COMPAT-40)", { timeout: longMs }, async () => {
    const answer = await fetch(`${box.url}/process.Process/Start`, {
      method: "POST",
      headers: {
        "e2b-sandbox-id": sandbox.sandboxId,
        "e2b-sandbox-port": "49983",
        "x-access-token": sandbox.envdAccessToken ?? "",
        "content-type": "application/connect+json",
        "connect-protocol-version": "1",
        "keepalive-ping-interval": isLong ? "50" : "1",
      },
      body: frameOf({ process: { cmd: "/bin/sleep", args: [isLong ? "200" : "4"] }, stdin: false }),
    });
    const kinds: string[] = [];
    for await (const { event } of messagesOf(answer)) kinds.push(...Object.keys(event ?? { over: true }));
    const beats = kinds.filter((kind) => kind === "keepalive").length;
    expect([kinds[0], beats >= (isLong ? 3 : 1), ...kinds.slice(-2)]).toEqual(["start", true, "end", "over"]);
  });
  test.runIf(isLong)(
    "a command that is silent for minutes ends as usual (COMPAT-40)",
    { timeout: longMs },
    async () => {
      expect((await run("sleep 200; echo done", { timeoutMs: 0 })).stdout).toBe("done\n");
    },
  );

  test("an ended command is known for a while (COMPAT-42)", async () => {
    const handle = await run("exit 5", { background: true });
    await expect(handle.wait()).rejects.toMatchObject({ exitCode: 5 });
    await expect((await sandbox.commands.connect(handle.pid)).wait()).rejects.toMatchObject({ exitCode: 5 });
  });
  test.runIf(isLong)(
    "it is known ten seconds after its end, and forgotten a minute after it (COMPAT-42)",
    { timeout: longMs },
    async () => {
      const handle = await run("exit 5", { background: true });
      await expect(handle.wait()).rejects.toMatchObject({ exitCode: 5 });
      await sleep(10_000);
      await expect((await sandbox.commands.connect(handle.pid)).wait()).rejects.toMatchObject({ exitCode: 5 });
      await sleep(50_000);
      await expect(sandbox.commands.connect(handle.pid)).rejects.toMatchObject({ name: "NotFoundError" });
    },
  );

  test("a large file is written and read as a stream (COMPAT-52)", { timeout: longMs }, async () => {
    const size = isLong ? 2 * 2 ** 30 : 64 * 2 ** 20;
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    let left = size;
    const content = new ReadableStream<Uint8Array>({
      pull(controller) {
        // Different pieces: one that is lost or repeated changes the hash.
        const piece = Buffer.alloc(Math.min(left, 2 ** 20), String(left));
        left -= piece.length;
        sent.update(piece);
        controller.enqueue(piece);
        if (left === 0) controller.close();
      },
    });
    await using memory = await MemoryOf.start(box.box.pid(), run);
    await sandbox.files.write("/tmp/large", content, { useOctetStream: true });
    let length = 0;
    for await (const piece of await sandbox.files.read("/tmp/large", { format: "stream" })) {
      received.update(piece);
      length += piece.length;
    }
    expect([length, received.digest("hex")]).toEqual([size, sent.digest("hex")]);
    if (isLong) expectBounded(memory);
    await sandbox.files.remove("/tmp/large");
  });

  test("200 commands at once are all answered (COMPAT-50)", { timeout: 240_000 }, async () => {
    const done = await Promise.all(Array.from({ length: 200 }, (_, index) => run(`echo ${index}`, { timeoutMs: 0 })));
    expect(done.map(({ stdout }) => stdout)).toEqual(done.map((_, index) => `${index}\n`));
  });

  test("several files in one request: of two with one path the first is written (COMPAT-53)", async () => {
    const form = new FormData();
    for (const text of ["1", "2"]) form.append("file", new Blob([text]), "/home/user/twice");
    const headers = { ...headersFor(sandbox, 49_983, undefined), "x-access-token": sandbox.envdAccessToken ?? "" };
    const answer = await fetch(`${box.url}/files`, { method: "POST", headers, body: form });
    expect(answer.status).toBe(400);
    expect(await sandbox.files.read("twice")).toBe("1");
    const files = ["a", "b"].map((data) => ({ path: "twice-by-client", data }));
    await expect(sandbox.files.write(files)).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });

  test("metadata of a file is stored with it, until it is written again (COMPAT-56)", async () => {
    const written = await sandbox.files.write("described", "x", { metadata: { Author: "me", "b-c": "two words" } });
    const metadata = { author: "me", "b-c": "two words" };
    expect(written.metadata).toEqual(metadata);
    expect((await sandbox.files.getInfo("described")).metadata).toEqual(metadata);
    expect(
      (await run("python3 -c \"import os; print(os.getxattr('described', 'user.e2b.author').decode())\"")).stdout,
    ).toBe("me\n");
    const [listed] = (await sandbox.files.list(".")).filter(({ name }: Loose) => name === "described");
    expect(listed.metadata).toEqual(metadata);
    await sandbox.files.write("described", "y");
    expect((await sandbox.files.getInfo("described")).metadata ?? {}).toEqual({});
    const several = [
      { path: "m1", data: "1" },
      { path: "m2", data: "2" },
    ];
    await sandbox.files.write(several, { metadata: { of: "both" } });
    expect((await sandbox.files.getInfo("m2")).metadata).toEqual({ of: "both" });
    const refused = sandbox.files.write("described", "x", { metadata: { long: "v".repeat(5000) } });
    await expect(refused).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });

  test("a full disk is an error of its own (COMPAT-54)", async () => {
    await run("chmod 777 /small", { user: "root" });
    const refused = sandbox.files.write("/small/big", "x".repeat(8_000_000));
    await expect(refused).rejects.toMatchObject({ name: "NotEnoughSpaceError" });
    expect(await sandbox.files.exists("/small/big")).toBe(false);
  });

  test("a file is renamed onto another file system (COMPAT-60)", async () => {
    await sandbox.files.write("/small/a", "moved");
    await sandbox.files.write("there", "old");
    expect(await sandbox.files.rename("/small/a", "there")).toMatchObject({ path: "/home/user/there" });
    expect(await sandbox.files.read("there")).toBe("moved");
    expect(await sandbox.files.exists("/small/a")).toBe(false);
  });

  test("a link whose signature has special characters, and a part of a file (COMPAT-65, COMPAT-66)", async () => {
    for (let index = 0; ; index++) {
      const path = `/home/user/link-${index}`;
      const link: string = await sandbox.downloadUrl(path);
      if (!link.includes("%2B") || !link.includes("%2F", link.indexOf("signature="))) continue;
      await sandbox.files.write(path, "0123456789");
      expect(await (await fetch(link)).text()).toBe("0123456789");
      const part = await fetch(link, { headers: { range: "bytes=5-9" } });
      expect([part.status, await part.text()]).toEqual([206, "56789"]);
      return;
    }
  });

  test("WebSockets through the host name of a port, with the token (COMPAT-69)", async () => {
    await sandbox.files.write("server.py", webSocketServer);
    await run("exec python3 server.py", { background: true, timeoutMs: 0 });
    await run(untilListening);
    const host: string = sandbox.getHost(9000);
    const open = (token: string | undefined): WebSocket =>
      new WebSocket(`${box.url.replace("http:", "ws:")}/socket`, {
        headers: { host, ...(token !== undefined && { "e2b-traffic-access-token": token }) },
      });
    const socket = open(sandbox.trafficAccessToken);
    await once(socket, "open");
    socket.send("hello");
    const [message] = await once(socket, "message");
    expect(String(message)).toBe("you said hello");
    socket.terminate();
    const refused = open(undefined);
    const [error] = await once(refused, "error");
    expect(String(error)).toContain("403");
  });

  test("contexts are opened by the token for ports, and by nothing else (COMPAT-34)", async () => {
    const create = async (token: string | undefined): Promise<number> => {
      const headers = { ...headersFor(interpreter, 49_999, token), "content-type": "application/json" };
      return (await fetch(`${box.url}/contexts`, { method: "POST", headers, body: "{}" })).status;
    };
    expect(await create(interpreter.trafficAccessToken)).toBe(200);
    expect(await create(undefined)).toBe(403);
    expect(await create(sandbox.trafficAccessToken)).toBe(403);
  });

  test("silent code is kept alive (COMPAT-71)", { timeout: longMs }, async () => {
    const headers = {
      ...headersFor(interpreter, 49_999, interpreter.trafficAccessToken),
      "x-access-token": interpreter.envdAccessToken ?? "",
      "content-type": "application/json",
    };
    const body = JSON.stringify({ code: `import time; time.sleep(${isLong ? 120 : 7}); 6 * 7` });
    const answer = await fetch(`${box.url}/execute`, { method: "POST", headers, body });
    const lines = (await answer.text()).trimEnd().split("\n");
    const types = lines.map((line) => (JSON.parse(line) as { readonly type: string }).type);
    expect(types.filter((type) => type === "keepalive").length).toBeGreaterThanOrEqual(isLong ? 15 : 1);
    expect(types.filter((type) => type !== "keepalive")).toEqual([
      "result",
      "number_of_executions",
      "end_of_execution",
    ]);
  });

  test("an image without bash runs commands in its other shell (COMPAT-48)", async () => {
    const folder = mkdtempSync(join(tmpdir(), "shell-image-"));
    try {
      const archive = buildShellImage(folder, "localhost/shell:1");
      expect(await box.box.run("image", "load", archive)).toMatchObject({ code: 0 });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const spec = {
      runtime: "Injected",
      podTemplate: { spec: { containers: [{ name: "main", image: "localhost/shell:1" }] } },
    };
    await box.apply({ ...smallDisk, metadata: { name: "shell", namespace: "team-a" }, spec });
    const bare = await e2b.Sandbox.create("shell", options);
    expect((await bare.commands.run("echo $0 $((1 + 1))")).stdout).toMatch(/^\S*sh 2\n$/);
    await expect(bare.commands.run("exit 3")).rejects.toMatchObject({ exitCode: 3 });
  });
});
