import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import type { Loose } from "./loose.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** The contract's script of forty calls for the JavaScript client of E2B. */
describe.skipIf(reason !== undefined)("the JavaScript client of E2B", () => {
  let box: CompatBox;
  let e2b: Loose;
  let sandbox: Loose;
  let options: Readonly<Record<string, unknown>>;
  let why: string | undefined;

  beforeAll(async () => {
    const skip = ((message: string) => {
      why = message;
      throw new Error(message);
    }) as never;
    e2b = (await available(npmPackages(), { skip }))("e2b");
    box = await CompatBox.start();
    options = { apiKey: box.key(), apiUrl: `${box.url}/e2b`, sandboxUrl: box.url };
    sandbox = await e2b.Sandbox.create({ ...options, timeoutMs: 280_000, metadata: { t: "x y" }, envs: { K: "V" } });
  }, 300_000);
  afterAll(async () => {
    if (why !== undefined) console.warn(`skipped: ${why}`);
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  const run = async (command: string, more?: object): Promise<Loose> => sandbox.commands.run(command, more);

  test("1 create: an id without hyphens", () => {
    expect(sandbox.sandboxId).toMatch(/^[a-z0-9]+$/);
  });
  test("2 variables and user", async () => {
    expect((await run("echo $K-$USER-$HOME-$E2B_SANDBOX_ID")).stdout).toBe(`V-user-/home/user-${sandbox.sandboxId}\n`);
  });
  test("3 an exit code is an error that carries it (COMPAT-37)", async () => {
    await expect(run("echo out; echo err >&2; exit 3")).rejects.toMatchObject({
      name: "CommandExitError",
      exitCode: 3,
      stdout: "out\n",
      stderr: "err\n",
    });
  });
  test("4 both streams", async () => {
    expect(await run("echo o; echo e >&2")).toMatchObject({ exitCode: 0, stdout: "o\n", stderr: "e\n" });
  });
  test("5 working directory (COMPAT-46)", async () => {
    expect((await run("pwd", { cwd: "/tmp" })).stdout).toBe("/tmp\n");
    expect((await run("pwd")).stdout).toBe("/home/user\n");
    for (const cwd of ["/absent", "/etc/passwd"]) {
      await expect(run("pwd", { cwd })).rejects.toMatchObject({ name: "InvalidArgumentError" });
    }
  });
  test("6 users (COMPAT-47)", async () => {
    expect((await run("id -u", { user: "root" })).stdout).toBe("0\n");
    await expect(run("id -u", { user: "nobody2" })).rejects.toMatchObject({ name: "AuthenticationError" });
  });
  test("7 a time limit ends the command and its process (COMPAT-39)", async () => {
    await expect(run("exec sleep 4711", { timeoutMs: 1000 })).rejects.toMatchObject({ name: "TimeoutError" });
    await expect.poll(async () => (await run("pgrep -fx 'sleep 4711' || true")).stdout).toBe("");
  });
  test("8 much output, with characters cut by chunks (COMPAT-35, COMPAT-36)", async () => {
    expect((await run("seq 100000")).stdout).toHaveLength(588_895);
    const { stdout } = await run("python3 -c \"print('漢é' * 200000, end='')\"");
    expect(stdout).toBe("漢é".repeat(200_000));
  });
  test("9-12 background, list, standard input (COMPAT-44)", async () => {
    const handle = await run("cat", { background: true, stdin: true });
    const pids = (await sandbox.commands.list()).map((one: Loose) => one.pid);
    expect(pids).toContain(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "hi");
    await sandbox.commands.closeStdin(handle.pid);
    expect(await handle.wait()).toMatchObject({ stdout: "hi", exitCode: 0 });
  });
  test("the standard input is empty by default (COMPAT-45)", async () => {
    expect((await run("read x; echo end:$?")).stdout).toBe("end:1\n");
  });
  test("13-16 disconnect, connect, kill (COMPAT-38, COMPAT-41)", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const handle = await run("echo before; sleep 60", { background: true, onStdout: resolve });
    await promise;
    await handle.disconnect();
    const again = await sandbox.commands.connect(handle.pid);
    expect(await sandbox.commands.kill(handle.pid)).toBe(true);
    await expect(again.wait()).rejects.toMatchObject({ exitCode: -1, error: "signal: killed", stdout: "" });
    expect(await sandbox.commands.kill(handle.pid)).toBe(false);
  });
  test("a command that nobody waits for goes on, and its result is known for a while (COMPAT-42, COMPAT-43)", async () => {
    const handle = await run("sleep 1; exit 5", { background: true });
    await handle.disconnect();
    const again = await sandbox.commands.connect(handle.pid);
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 5 });
    await expect(sandbox.commands.connect(4_000_000)).rejects.toMatchObject({ name: "NotFoundError" });
  });
  test("17-18 write and read (COMPAT-51)", async () => {
    expect(await sandbox.files.write("a/b.txt", "é")).toMatchObject({ path: "/home/user/a/b.txt", type: "file" });
    expect(await sandbox.files.read("a/b.txt")).toBe("é");
    await sandbox.files.write("empty", "");
    expect(await sandbox.files.read("empty")).toBe("");
  });
  test("19 several files (COMPAT-53)", async () => {
    const written = await sandbox.files.write([
      { path: "m1.txt", data: "1" },
      { path: "/home/user/deep/m2.txt", data: "2" },
    ]);
    expect(written.map(({ path }: Loose) => path)).toEqual(["/home/user/m1.txt", "/home/user/deep/m2.txt"]);
    expect(await sandbox.files.read("deep/m2.txt")).toBe("2");
  });
  test("20-22 list, exists, info (COMPAT-57, COMPAT-58)", async () => {
    await run("mkdir -p a/c && ln -sfn .. a/c/loop && ln -sfn /absent a/dangling && touch $'a/new\\nline 🙂'");
    const listed = await sandbox.files.list("a", { depth: 3 });
    expect(listed.map(({ path }: Loose) => path)).toEqual([
      "/home/user/a/b.txt",
      "/home/user/a/c",
      "/home/user/a/c/loop",
      "/home/user/a/dangling",
      "/home/user/a/new\nline 🙂",
    ]);
    const links = listed.filter(({ type }: Loose) => type === "symlink");
    expect(links.map(({ name, symlinkTarget }: Loose) => [name, symlinkTarget])).toEqual([
      ["loop", ".."],
      ["dangling", "/absent"],
    ]);
    expect(await sandbox.files.exists("a/dangling")).toBe(true);
    expect(await sandbox.files.exists("a/new\nline 🙂")).toBe(true);
    expect(await sandbox.files.exists("zz")).toBe(false);
    const info = await sandbox.files.getInfo("a/b.txt");
    expect(info).toMatchObject({ name: "b.txt", size: 2, owner: "user", group: "user", permissions: "-rw-r--r--" });
  });
  test("23-26 folders, rename, remove (COMPAT-54, COMPAT-59, COMPAT-60, COMPAT-61)", async () => {
    expect(await sandbox.files.makeDir("d")).toBe(true);
    expect(await sandbox.files.makeDir("d")).toBe(false);
    await sandbox.files.write("d/target", "old");
    expect(await sandbox.files.rename("m1.txt", "d/target")).toMatchObject({ path: "/home/user/d/target" });
    expect(await sandbox.files.read("d/target")).toBe("1");
    await expect(sandbox.files.write("d", "x")).rejects.toMatchObject({ name: "InvalidArgumentError" });
    await sandbox.files.remove("d");
    await sandbox.files.remove("d");
    await expect(sandbox.files.read("nope")).rejects.toMatchObject({ name: "FileNotFoundError" });
  });
  test("files of another user", async () => {
    await sandbox.files.write("/root-owned/f", "x", { user: "root" });
    expect((await run("stat -c %U /root-owned /root-owned/f")).stdout).toBe("root\nroot\n");
  });
  test("27 watch, also new folders (COMPAT-62)", async () => {
    const seen: Loose[] = [];
    const watch = await sandbox.files.watchDir("/home/user", (event: Loose) => seen.push(event), { recursive: true });
    await sandbox.files.write("fresh/w.txt", "x");
    await expect.poll(() => seen.map(({ name }) => name)).toContain("fresh/w.txt");
    expect(seen).toContainEqual(expect.objectContaining({ name: "fresh", type: "create" }));
    await watch.stop();
    const before = seen.length;
    await sandbox.files.write("fresh/after", "x");
    await run("sleep 0.2");
    expect(seen).toHaveLength(before);
  });
  test("28 bytes, streams and gzip (COMPAT-55)", async () => {
    const data = new Uint8Array(3_000_000).map((_, index) => index % 251);
    await sandbox.files.write("blob", new Blob([data]).stream());
    expect(Buffer.compare(await sandbox.files.read("blob", { format: "bytes" }), data)).toBe(0);
    await sandbox.files.write("zipped", "z".repeat(100_000), { gzip: true });
    expect(await sandbox.files.read("zipped", { gzip: true })).toBe("z".repeat(100_000));
  });
  test("29-30 links to files (COMPAT-64)", async () => {
    const link: string = await sandbox.downloadUrl("a/b.txt");
    expect(await (await fetch(link)).text()).toBe("é");
    const form = new FormData();
    form.append("file", new Blob(["up"]), "up.txt");
    const uploaded = await fetch(await sandbox.uploadUrl("up.txt"), { method: "POST", body: form });
    expect([uploaded.status, await sandbox.files.read("up.txt")]).toEqual([200, "up"]);
    const part = await fetch(link, { headers: { range: "bytes=0-0" } });
    expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 1]);
    const other = link.replace("b.txt", "c.txt");
    expect((await fetch(other)).status).toBe(401);
    expect((await fetch(link, { method: "POST", body: form })).status).toBe(401);
    const expired: string = await sandbox.downloadUrl("a/b.txt", { useSignatureExpiration: -10 });
    expect((await fetch(expired)).status).toBe(401);
  });
  test("31-32 terminal (COMPAT-49)", async () => {
    let shown = "";
    const onData = (data: Uint8Array): void => {
      shown += Buffer.from(data).toString();
    };
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData, timeoutMs: 0 });
    await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await sandbox.pty.sendInput(terminal.pid, Buffer.from("stty size; exit 4\n"));
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: 4 });
    expect(shown).toContain("30 100");
  });
  test("keys of a terminal: Ctrl-C interrupts, Ctrl-D ends (COMPAT-49)", async () => {
    let shown = "";
    const onData = (data: Uint8Array): void => {
      shown += Buffer.from(data).toString();
    };
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData, timeoutMs: 0 });
    const type = (text: string): Promise<void> => sandbox.pty.sendInput(terminal.pid, Buffer.from(text));
    const sleeping = async (): Promise<string> => (await run("pgrep -fx 'sleep 4718' || true")).stdout;
    await type("sleep 4718\n");
    await expect.poll(sleeping).toMatch(/^\d+\n$/);
    await type("\u0003");
    await expect.poll(sleeping).toBe("");
    await type("echo status:$?; true\n");
    await expect.poll(() => shown).toContain("status:130");
    await type("\u0004");
    expect(await terminal.wait()).toMatchObject({ exitCode: 0 });
  });
  test("33 a server on loopback, and a port where nothing listens (COMPAT-67, COMPAT-68)", async () => {
    await run("python3 -m http.server 8000 --bind 127.0.0.1", { background: true, timeoutMs: 0 });
    await run("until (echo > /dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done");
    expect(sandbox.getHost(8000)).toMatch(/^8000-[a-z0-9]+\.team-a\.localhost:\d+$/);
    const ask = (port: string, token: string | undefined): Promise<Response> => {
      const own = token === undefined ? {} : { "e2b-traffic-access-token": token };
      return fetch(box.url, { headers: { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": port, ...own } });
    };
    expect((await ask("8000", sandbox.trafficAccessToken)).status).toBe(200);
    expect((await ask("8000", undefined)).status).toBe(403);
    const closed = await ask("8001", sandbox.trafficAccessToken);
    expect([closed.status, await closed.json()]).toEqual([
      502,
      expect.objectContaining({ message: "The sandbox is running but port is not open", port: 8001 }),
    ]);
  });
  test("34-36 running, deadline, metrics (COMPAT-27, COMPAT-28)", async () => {
    expect(await sandbox.isRunning()).toBe(true);
    await sandbox.setTimeout(600_000);
    const { endAt } = await sandbox.getInfo();
    await e2b.Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 60_000 });
    expect((await sandbox.getInfo()).endAt).toEqual(endAt);
    await sandbox.setTimeout(300_000);
    expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(endAt.getTime());
    const [sample] = await sandbox.getMetrics();
    expect(sample.memUsed).toBeGreaterThan(0);
  });
  test("37 list by metadata (COMPAT-15)", async () => {
    const found = await e2b.Sandbox.list({ ...options, query: { metadata: { t: "x y" } } }).nextItems();
    expect(found.map(({ sandboxId }: Loose) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(await e2b.Sandbox.list({ ...options, query: { metadata: { t: "other" } } }).nextItems()).toEqual([]);
    expect(await e2b.Sandbox.list({ ...options, query: { state: ["paused"] } }).nextItems()).toEqual([]);
  });
  test("38-39 pause and connect keep files and memory, tokens and links (COMPAT-23, COMPAT-25, COMPAT-26, COMPAT-31)", async () => {
    const handle = await run("sleep 1000", { background: true, timeoutMs: 0 });
    const link: string = await sandbox.downloadUrl("a/b.txt");
    expect(await sandbox.pause()).toBe(true);
    expect(await sandbox.isRunning()).toBe(false);
    expect(await sandbox.pause()).toBe(false);
    expect((await sandbox.getInfo()).state).toBe("paused");
    const again = await e2b.Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 300_000 });
    expect(await again.files.read("a/b.txt")).toBe("é");
    expect((await again.commands.list()).map(({ pid }: Loose) => pid)).toContain(handle.pid);
    expect((await run("echo with the old token")).stdout).toBe("with the old token\n");
    expect(await (await fetch(link)).text()).toBe("é");
  });
  const killSoon = async (): Promise<boolean> => {
    await expect
      .poll(async () => (await sandbox.commands.list()).map((one: Loose) => one.args.at(-1)))
      .toContain("sleep 1000");
    return sandbox.kill();
  };
  test("40 kill (COMPAT-19, COMPAT-20, COMPAT-22)", async () => {
    const [ended, killed] = await Promise.allSettled([run("sleep 1000", { timeoutMs: 0 }), killSoon()]);
    expect([ended, killed]).toEqual([
      // The client's error for a sandbox that ended during a request.
      { status: "rejected", reason: expect.objectContaining({ name: "TimeoutError" }) },
      { status: "fulfilled", value: true },
    ]);
    expect(await sandbox.kill()).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
    await expect(sandbox.getInfo()).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });
});
