import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../clients/unavailable.ts";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import type { Loose } from "./loose.ts";
import { npmPackages } from "./npm-packages.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const texts = (lines: Loose): string[] => lines.map(({ text }: Loose) => text);

/** The contract's script of forty calls for the JavaScript client of OpenSandbox. */
describe.skipIf(reason !== undefined)("the JavaScript client of OpenSandbox", () => {
  let box: CompatBox;
  let opensandbox: Loose;
  let sandbox: Loose;
  let connectionConfig: Readonly<Record<string, unknown>>;

  beforeAll(async () => {
    const skip = ((message: string) => {
      console.warn(`skipped: ${message}`);
      throw new Error(message);
    }) as never;
    opensandbox = (await available(npmPackages(), { skip }))("@alibaba-group/opensandbox");
    box = await CompatBox.start();
    connectionConfig = { domain: new URL(box.url).host, apiKey: box.key() };
    sandbox = await opensandbox.Sandbox.create({
      connectionConfig,
      image: "host",
      timeoutSeconds: 600,
      env: { K: "V $HOME $(K)" },
      metadata: { a: "x y", team: "one" },
    });
  }, 300_000);
  afterAll(async () => {
    await sandbox?.close();
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  const run = async (command: string, more?: object, handlers?: object): Promise<Loose> =>
    sandbox.commands.run(command, more, handlers);
  const stateOf = async (): Promise<string> => (await sandbox.getInfo()).status.state;

  test("create: a sandbox that runs, with its deadline and metadata", async () => {
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ id: sandbox.id, status: { state: "Running" }, metadata: { a: "x y", team: "one" } });
    expect(info.entrypoint).toEqual(["tail", "-f", "/dev/null"]);
    expect(new Date(info.expiresAt).getTime() - Date.now()).toBeGreaterThan(500_000);
  });
  test("a command's lines have no ends, an empty one is a line feed, and the last one may have none (COMPAT-81)", async () => {
    const done = await run("printf 'a\\nb\\n\\nc'");
    expect([done.exitCode, texts(done.logs.stdout)]).toEqual([0, ["a", "b", "\n", "c"]]);
    expect(done.complete).toBeDefined();
  });
  test("an exit code is the error's value, and the command is not complete (COMPAT-82)", async () => {
    const failed = await run("exit 7");
    expect([failed.exitCode, failed.error.value, failed.complete]).toEqual([7, "7", undefined]);
  });
  test("both streams, and handlers in the order of the events", async () => {
    const seen: string[] = [];
    const note =
      (name: string) =>
      ({ text }: Loose): unknown =>
        seen.push(`${name} ${text ?? ""}`);
    const done = await run(
      "echo out; sleep 0.2; echo err >&2",
      {},
      {
        onInit: () => seen.push("init"),
        onStdout: note("stdout"),
        onStderr: note("stderr"),
        onExecutionComplete: () => seen.push("complete"),
      },
    );
    expect(seen).toEqual(["init", "stdout out", "stderr err", "complete"]);
    expect(texts(done.logs.stderr)).toEqual(["err"]);
  });
  test("working directory, variables, user and group", async () => {
    const lines = async (command: string, more?: object): Promise<string[]> =>
      texts((await run(command, more)).logs.stdout);
    expect(await lines("pwd", { workingDirectory: "/tmp" })).toEqual(["/tmp"]);
    expect(await lines('echo "$K" $ONE', { envs: { ONE: "1" } })).toEqual(["V $HOME $(K) 1"]);
    expect(await lines("id -u; id -g", { uid: 1234, gid: 4321 })).toEqual(["1234", "4321"]);
    await expect(run("pwd", { workingDirectory: "/absent" })).rejects.toMatchObject({ statusCode: 400 });
  });
  test("a time limit ends the command", async () => {
    const late = await run("sleep 60", { timeoutSeconds: 1 });
    expect([late.exitCode, late.complete]).toEqual([-1, undefined]);
  });
  test("a command in the foreground ends with its connection, and everything that it started (COMPAT-83)", async () => {
    // The client drops its abort signal once an answer has begun, so this is a request like those that it sends.
    const { endpoint, headers } = await sandbox.getEndpoint(44_772);
    const ending = new AbortController();
    const body = JSON.stringify({ command: "sleep 4711 & wait" });
    // An answer that nothing refers to would be collected, and its connection closed.
    const answer = await fetch(`http://${endpoint}/command`, { method: "POST", headers, body, signal: ending.signal });
    const isRunning = async (): Promise<boolean> => (await run("pgrep -f '^sleep 4711$'")).exitCode === 0;
    await expect.poll(isRunning).toBe(true);
    expect(answer.status).toBe(200);
    ending.abort();
    await expect.poll(isRunning).toBe(false);
  });
  test("a command in the background: status, logs from a cursor without overlap, and its end (COMPAT-84)", async () => {
    const { id, logs } = await run("echo a; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo b; exit 3", {
      background: true,
    });
    expect(logs.stdout).toEqual([]);
    const logsFrom = (cursor: number): Promise<Loose> => sandbox.commands.getBackgroundCommandLogs(id, cursor);
    await expect.poll(async () => (await logsFrom(0)).content).toBe("a\n");
    expect(await sandbox.commands.getCommandStatus(id)).toMatchObject({ id, running: true, exitCode: null });
    const { cursor } = await logsFrom(0);
    await run("touch /tmp/go");
    await expect.poll(async () => (await sandbox.commands.getCommandStatus(id)).exitCode).toBe(3);
    expect(await logsFrom(cursor)).toEqual({ content: "b\n", cursor: 4 });
    expect(await logsFrom(4)).toEqual({ content: "", cursor: 4 });
  });
  test("an interruption ends a command, also one that ignores the request to end", async () => {
    for (const command of ["echo ready; sleep 600", "trap '' TERM; echo ready; while :; do sleep 1; done"]) {
      const { id } = await run(command, { background: true });
      await expect.poll(async () => (await sandbox.commands.getBackgroundCommandLogs(id)).content).toBe("ready\n");
      await sandbox.commands.interrupt(id);
      expect((await sandbox.commands.getCommandStatus(id)).running).toBe(false);
      await expect(sandbox.commands.interrupt(id)).rejects.toMatchObject({ error: { code: "RUNTIME_ERROR" } });
    }
    await expect(sandbox.commands.getCommandStatus("4711")).rejects.toMatchObject({ statusCode: 404 });
  });
  test("a session keeps its folder and its variables", async () => {
    const session = await sandbox.commands.createSession({ workingDirectory: "/usr" });
    const inSession = async (command: string, more?: object): Promise<Loose> =>
      sandbox.commands.runInSession(session, command, more);
    expect(texts((await inSession("pwd; cd /tmp; X=5; f() { echo f; }")).logs.stdout)).toEqual(["/usr"]);
    expect(texts((await inSession("pwd; echo $X; f")).logs.stdout)).toEqual(["/tmp", "5", "f"]);
    expect((await inSession("exit 4")).exitCode).toBe(4);
    expect(texts((await inSession("pwd", { workingDirectory: "/" })).logs.stdout)).toEqual(["/"]);
    await sandbox.commands.deleteSession(session);
    await expect(inSession("pwd")).rejects.toMatchObject({ statusCode: 404 });
  });
  test("files: write, read, parts, info", async () => {
    const { files } = sandbox;
    await files.writeFiles([
      { path: "/tmp/f/a.txt", data: "one\ntwo\nthree\n", mode: 644 },
      { path: "/tmp/f/deep/b.bin", data: new Uint8Array(300_000).fill(7) },
    ]);
    expect(await files.readFile("/tmp/f/a.txt")).toBe("one\ntwo\nthree\n");
    expect(await files.readFile("/tmp/f/a.txt", { range: "bytes=4-6" })).toBe("two");
    expect(await files.readFile("/tmp/f/a.txt", { offset: 2, limit: 1 })).toBe("two\n");
    expect(await files.readBytes("/tmp/f/deep/b.bin")).toEqual(new Uint8Array(300_000).fill(7));
    const info = await files.getFileInfo(["/tmp/f/a.txt", "~/../tmp/f/deep/b.bin"]);
    expect(Object.values(info)).toMatchObject([
      { path: "/tmp/f/a.txt", type: "file", size: 14, mode: 644, owner: "root", group: "root" },
      { path: "/tmp/f/deep/b.bin", size: 300_000 },
    ]);
    await expect(files.readFile("/tmp/absent")).rejects.toMatchObject({ statusCode: 404 });
  });
  test("a file without a mode is executable by default, and the mode is written in octal digits (COMPAT-85)", async () => {
    await sandbox.files.createDirectories([{ path: "/tmp/f/new", mode: 700 }, { path: "/tmp/f/usual" }]);
    expect(texts((await run("stat -c %a /tmp/f/new /tmp/f/usual")).logs.stdout)).toEqual(["700", "755"]);
    await sandbox.files.setPermissions([{ path: "/tmp/f/a.txt", mode: 600, owner: "nobody" }]);
    expect(texts((await run("stat -c '%a %U' /tmp/f/a.txt")).logs.stdout)).toEqual(["600 nobody"]);
  });
  test("files: list, search, replace, move, delete", async () => {
    const { files } = sandbox;
    const pathsOf = (entries: Loose): string[] => entries.map(({ path }: Loose) => path).toSorted();
    expect(pathsOf(await files.listDirectory({ path: "/tmp/f" }))).toEqual(
      ["a.txt", "deep", "new", "usual"].map((name) => `/tmp/f/${name}`),
    );
    expect(pathsOf(await files.listDirectory({ path: "/tmp/f", depth: 2 }))).toContain("/tmp/f/deep/b.bin");
    expect(pathsOf(await files.search({ path: "/tmp/f", pattern: "*.{txt,bin}" }))).toEqual([
      "/tmp/f/a.txt",
      "/tmp/f/deep/b.bin",
    ]);
    const change = { path: "/tmp/f/a.txt", oldContent: "t", newContent: "é" };
    expect(await files.replaceContentsDetailed([change])).toEqual([{ path: "/tmp/f/a.txt", replacedCount: 2 }]);
    expect(await files.readFile("/tmp/f/a.txt")).toBe("one\néwo\néhree\n");
    await files.moveFiles([{ src: "/tmp/f/a.txt", dest: "/tmp/f/moved/c.txt" }]);
    await files.deleteFiles(["/tmp/f/moved/c.txt", "/tmp/f/absent"]);
    await files.deleteDirectories(["/tmp/f/deep", "/tmp/f/absent"]);
    expect(texts((await run("ls /tmp/f")).logs.stdout)).toEqual(["moved", "new", "usual"]);
    await expect(files.moveFiles([{ src: "/tmp/absent", dest: "/tmp/x" }])).rejects.toMatchObject({ statusCode: 404 });
  });
  test("metrics", async () => {
    const { cpuCount, memoryUsedMiB } = await sandbox.getMetrics();
    expect([cpuCount, memoryUsedMiB > 0]).toEqual([1, true]);
  });
  test("the address of a port has the header that opens it, and a signed one needs none", async () => {
    const server =
      'mkdir -p /tmp/www; cd /tmp/www; echo served > index.html; exec python3 -m http.server 8000 --bind "$0"';
    await run(`sh -c '${server}' 127.0.0.1`, { background: true });
    const { endpoint, headers } = await sandbox.getEndpoint(8000);
    const get = async (path: string, init: object = {}): Promise<unknown> => {
      const answer = await fetch(`http://${path}`, init);
      return [answer.status, answer.status === 200 ? (await answer.text()).trim() : ""];
    };
    await expect.poll(() => get(endpoint, { headers })).toEqual([200, "served"]);
    expect(await get(`${endpoint}/index.html?x=1`, { headers })).toEqual([200, "served"]);
    expect(await get(endpoint)).toEqual([401, ""]);
    const signed = await sandbox.getSignedEndpoint(8000, Math.floor(Date.now() / 1000) + 600);
    expect(await get(`${signed.endpoint}/index.html`)).toEqual([200, "served"]);
    expect((await sandbox.getEndpoint(8001)).endpoint).toContain("/8001");
    await expect(sandbox.getEndpoint(8080)).rejects.toMatchObject({ statusCode: 400 });
  });
  test("no rule of the network is accepted, because nothing would enforce it", async () => {
    expect(await sandbox.getEgressPolicy()).toEqual({ defaultAction: "allow", egress: [] });
    const rules = [{ action: "deny", target: "example.com" }];
    await expect(sandbox.patchEgressRules(rules)).rejects.toMatchObject({ statusCode: 501 });
    const networkPolicy = { defaultAction: "deny", egress: [] };
    const restricted = opensandbox.Sandbox.create({ connectionConfig, image: "host", networkPolicy });
    await expect(restricted).rejects.toMatchObject({ statusCode: 501, error: { code: "SANDBOX::API_NOT_SUPPORTED" } });
  });
  test("metadata changes, and lists find a sandbox by it and by its state (COMPAT-88)", async () => {
    const changed = await sandbox.patchMetadata({ a: null, b: "c = d e" });
    expect(changed.metadata).toEqual({ team: "one", b: "c = d e" });
    const manager = opensandbox.SandboxManager.create({ connectionConfig });
    const found = async (filter: object): Promise<string[]> =>
      (await manager.listSandboxInfos(filter)).items.map(({ id }: Loose) => id);
    expect(await found({ metadata: { b: "c = d e" } })).toEqual([sandbox.id]);
    expect(await found({ metadata: { b: "other" } })).toEqual([]);
    expect(await found({ states: ["Running"] })).toEqual([sandbox.id]);
    expect(await found({ states: ["Paused"] })).toEqual([]);
    await manager.close();
  });
  test("renew moves the deadline, and a time in the past changes nothing (COMPAT-89)", async () => {
    const { expiresAt } = await sandbox.renew(3600);
    expect(new Date((await sandbox.getInfo()).expiresAt)).toEqual(new Date(expiresAt));
    await expect(sandbox.renew(-10)).rejects.toMatchObject({ statusCode: 400 });
    expect(new Date((await sandbox.getInfo()).expiresAt)).toEqual(new Date(expiresAt));
  });
  test("pause and resume keep files and running commands (COMPAT-79)", async () => {
    const { id } = await run("echo kept > /tmp/kept; sleep 3600", { background: true });
    await sandbox.pause();
    await expect.poll(stateOf, { timeout: 60_000 }).toBe("Paused");
    await expect(sandbox.renew(60)).rejects.toMatchObject({ statusCode: 409 });
    const resumed = await sandbox.resume();
    expect(await stateOf()).toBe("Running");
    expect(texts((await resumed.commands.run("cat /tmp/kept")).logs.stdout)).toEqual(["kept"]);
    expect((await resumed.commands.getCommandStatus(id)).running).toBe(true);
  });
  test("another client that knows only the id works, also after the box was killed", async () => {
    const compat = new URL(box.url).host;
    process.kill(box.box.pid(), "SIGKILL");
    expect(await box.box.up("--compat-listen", compat)).toMatchObject({ code: 0 });
    const other = await opensandbox.Sandbox.connect({ connectionConfig, sandboxId: sandbox.id });
    expect(texts((await other.commands.run("cat /tmp/kept")).logs.stdout)).toEqual(["kept"]);
    expect((await other.getInfo()).metadata).toEqual({ team: "one", b: "c = d e" });
    await other.close();
  });
  test("a client whose token was revoked is told so (COMPAT-90)", async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    box.kubectl("annotate", "sandbox", sandbox.id, "-n", "team-a", `agents.x-k8s.io/tokens-not-before=${later}`);
    await expect.poll(() => run("true").catch((error: Loose) => error.statusCode)).toBe(401);
    const waiting = sandbox.waitUntilReady({ readyTimeoutSeconds: 1, pollingIntervalMillis: 100 });
    await expect(waiting).rejects.toThrow("X-EXECD-ACCESS-TOKEN was revoked");
  });
  test("kill: the sandbox is gone, and killing it again is an error (COMPAT-80)", async () => {
    await sandbox.kill();
    for (const call of [() => sandbox.getInfo(), () => sandbox.kill()]) {
      await expect(call()).rejects.toMatchObject({ statusCode: 404, error: { code: "KUBERNETES::SANDBOX_NOT_FOUND" } });
    }
  });
});
