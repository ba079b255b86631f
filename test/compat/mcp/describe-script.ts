import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CompatBox } from "../compat-box.ts";
import type { Loose } from "../loose.ts";
import { type Generation, McpHost, type Packages, type Way } from "./mcp-host.ts";

export interface ScriptOptions {
  readonly way: Way;
  readonly generation: Generation;
  /** Where sandboxes come from. */
  readonly source: { readonly template: string } | { readonly image: string };
  readonly world: () => { readonly box: CompatBox; readonly load: Packages };
}

/** The contract's script of forty calls. */
export function describeScript({ way, generation, source, world }: ScriptOptions): void {
  describe(`${generation} over ${way}`, () => {
    const sandbox = `s-${way}-${generation.replaceAll(/[^a-z0-9]/g, "-")}`;
    const at = { sandbox };
    let host: McpHost;
    beforeAll(async () => {
      const { box, load } = world();
      host = await McpHost.connect(load, box, { generation, way });
    }, 120_000);
    afterAll(async () => await host?.[Symbol.asyncDispose]());
    const run = (command: string, more: object = {}, options: object = {}): Promise<Loose> =>
      host.use("run_command", { ...at, command, ...more }, options);
    const running = async (pattern: string): Promise<string> => (await run(`pgrep -fx '${pattern}' || true`)).stdout;

    test("1-2 the versions, capabilities and instructions (91)", async () => {
      const { client, isModern } = host;
      expect(client.getServerVersion()).toMatchObject({ name: "agent-sandbox" });
      expect(client.getInstructions()).toContain("Delete a sandbox");
      expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: { listChanged: true } });
      // Each generation has a request that the other one lacks.
      const isServed = isModern
        ? (await client.discover()).supportedVersions.includes("2026-07-28")
        : (await client.ping()) !== undefined;
      expect(isServed).toBe(true);
    });
    test("3-4 the list of tools is sorted, valid and the same every time", async () => {
      const list = async (): Promise<Loose[]> => (await host.client.listTools({}, { cacheMode: "bypass" })).tools;
      const tools = await list();
      const names = tools.map(({ name }) => name);
      expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(names).toEqual(expect.arrayContaining(["fork_sandbox", "run_command", "search_files"]));
      const Ajv2020 = world().load("ajv/dist/2020.js").default;
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      for (const { inputSchema, outputSchema } of tools) {
        expect([ajv.validateSchema(inputSchema), ajv.validateSchema(outputSchema)]).toEqual([true, true]);
      }
      expect(JSON.stringify(await list())).toBe(JSON.stringify(tools));
    });
    test("5 templates", async () => {
      const { templates } = await host.use("list_templates");
      expect(templates).toContainEqual({ name: "plain", image: "host", warm: 0 });
    });
    test("6-8 create with progress, the same name again, list", async () => {
      const seen: Loose[] = [];
      const wanted = { ...source, name: sandbox, labels: { team: sandbox }, env: { GREETING: "hello" } };
      const made = await host.use("create_sandbox", wanted, { onprogress: (one: Loose) => seen.push(one) });
      expect(made).toMatchObject({ ...at, namespace: "team-a", status: "running", on_timeout: "delete" });
      expect(seen[0]).toMatchObject({ progress: 1, message: expect.stringMatching(/\w/) });
      expect((await host.use("create_sandbox", wanted)).created_at).toBe(made.created_at);
      const { sandboxes } = await host.use("list_sandboxes", { labels: { team: sandbox } });
      expect(sandboxes.map((one: Loose) => one.sandbox)).toEqual([sandbox]);
    });
    test("9-10 a command in text and structure; an exit code is no error", async () => {
      const { content, structuredContent } = await host.call("run_command", { ...at, command: "echo $GREETING" });
      expect(content).toEqual([{ type: "text", text: "hello" }]);
      expect(structuredContent).toMatchObject({ exit_code: 0, stdout: "hello\n", stderr: "", timed_out: false });
      expect(await run("echo out; echo err >&2; exit 3")).toMatchObject({
        exit_code: 3,
        stdout: "out\n",
        stderr: "err\n",
      });
    });
    test("11-12 an unknown command, input, folder and variables", async () => {
      expect((await run("no-such-command")).exit_code).toBe(127);
      const { stdout } = await run("cat; pwd; echo $A", { stdin: "in\n", cwd: "/tmp", env: { A: "b" } });
      expect(stdout).toBe("in\n/tmp\nb\n");
    });
    test("13 a time limit ends the command and its processes", async () => {
      expect(await run("sleep 4711 & sleep 4712", { timeout_seconds: 1 })).toMatchObject({ timed_out: true });
      await expect.poll(() => running("sleep 471[12]")).toBe("");
    });
    test("14 long output is cut in the middle (98)", async () => {
      const { stdout, truncated } = await run("printf start; head -c 10000000 /dev/zero | tr '\\0' x; printf end");
      expect(truncated).toBe(true);
      expect(stdout).toMatch(/^startx+\n\[9934472 bytes left out\]\nx+end$/);
    });
    test("15-17 a background process: read, write, kill", async () => {
      const { process_id } = await run("while read line; do echo got $line; done", { background: true });
      const process = { ...at, process_id };
      expect(await host.use("write_process", { ...process, input: "one\n" })).toEqual({ bytes_written: 4 });
      const first = await host.use("read_process", { ...process, wait_seconds: 30 });
      expect(first).toMatchObject({ output: "got one\n", next: 8, running: true });
      expect(await host.use("kill_process", process)).toEqual({ signalled: true });
      const last = await host.use("read_process", { ...process, from: first.next, wait_seconds: 30 });
      expect(last).toMatchObject({ output: "", running: false });
    });
    test("18 progress of a slow command", async () => {
      const seen: Loose[] = [];
      await run("for i in 1 2 3; do echo line $i; sleep 1.2; done", {}, { onprogress: (one: Loose) => seen.push(one) });
      expect(seen.map(({ progress }) => progress)).toEqual(seen.map((_, index) => index + 1));
      expect(seen[0]?.message).toMatch(/^line \d$/);
    });
    test("19 a cancelled command is killed with its children (96)", async () => {
      const cancelling = new AbortController();
      const command = `sleep 4713 & exec sleep 4714`;
      const ended = host.call("run_command", { ...at, command }, { signal: cancelling.signal });
      ended.catch(() => undefined);
      await expect.poll(() => running("sleep 471[34]")).toMatch(/\d+\n\d+\n/);
      cancelling.abort();
      await expect(ended).rejects.toThrow(/abort/i);
      await expect.poll(() => running("sleep 471[34]")).toBe("");
    });
    test("20-23 code: a value, an image, variables of a context, an error", async () => {
      expect(await host.use("run_code", { ...at, code: "2 + 2" })).toMatchObject({ result: "4", images: 0 });
      const code = "from IPython.display import Image\nImage(b'\\x89PNG')";
      const shown = await host.call("run_code", { ...at, code });
      expect(shown.content).toContainEqual({ type: "image", data: "iVBORw==", mimeType: "image/png" });
      const large = "from IPython.display import Image\nImage(b'\\x89PNG' + b'x' * 2_000_000)";
      const { content } = await host.call("run_code", { ...at, code: large });
      const [link] = content.filter(({ type }: Loose) => type === "resource_link");
      expect(link.mimeType).toBe("image/png");
      expect((await host.client.readResource({ uri: link.uri })).contents[0].blob).toMatch(/^iVBOR3h4/);
      await host.use("run_code", { ...at, code: "x = 41", context: "mine" });
      expect((await host.use("run_code", { ...at, code: "x + 1", context: "mine" })).result).toBe("42");
      const { error } = await host.use("run_code", { ...at, code: "x" });
      expect(error).toMatchObject({ name: "NameError", value: "name 'x' is not defined" });
      const javascript = { ...at, language: "javascript", code: "[1, 2].map((n) => n * 2)" };
      expect((await host.use("run_code", javascript)).result).toBe("[ 2, 4 ]");
      expect((await host.use("run_code", { ...at, language: "bash", code: "echo $((6 * 7))" })).stdout).toBe("42\n");
    });
    test("24-26 files: text, bytes and ranges (99)", async () => {
      const text = { ...at, path: "/tmp/notes/é.txt" };
      expect(await host.use("write_file", { ...text, content: "héllo\n" })).toEqual({ bytes_written: 7 });
      expect(await host.use("read_file", text)).toMatchObject({ content: "héllo\n", size: 7, truncated: false });
      expect(await host.use("read_file", { ...text, offset: 1, limit: 2 })).toMatchObject({
        content: "é",
        next_offset: 3,
      });
      const bytes = { ...at, path: "/tmp/bytes", encoding: "base64" };
      await host.use("write_file", { ...bytes, content: "AP/+gA==" });
      expect((await host.use("read_file", bytes)).content).toBe("AP/+gA==");
      expect(await host.failure("read_file", { ...at, path: "/tmp/bytes" })).toContain("Use encoding base64");
    });
    test("27 edit", async () => {
      const file = { ...at, path: "/tmp/code.txt" };
      await host.use("write_file", { ...file, content: "a b a" });
      expect(await host.use("edit_file", { ...file, old: "b", new: "c" })).toEqual({ replaced: 1 });
      expect(await host.failure("edit_file", { ...file, old: "a", new: "x" })).toContain("occurs 2 times");
      expect(await host.use("edit_file", { ...file, old: "a", new: "$&$1", replace_all: true })).toEqual({
        replaced: 2,
      });
      expect((await host.use("read_file", file)).content).toBe("$&$1 c $&$1");
      const longer = { ...file, old: "$&$1", new: "x".repeat(2_200_000), replace_all: true };
      expect(await host.failure("edit_file", longer)).toContain("larger than 4 MiB");
    });
    test("28-29 list, search, folders, move, delete", async () => {
      const folder = "/tmp/tree";
      await host.use("make_directory", { ...at, path: `${folder}/deep/er` });
      await host.use("write_file", { ...at, path: `${folder}/deep/er/b.py`, content: "print('needle')\n" });
      await host.use("write_file", { ...at, path: `${folder}/a.txt`, content: "hay\n" });
      const paths = async (more: object): Promise<string[]> =>
        (await host.use("list_files", { ...at, path: folder, ...more })).entries.map(({ path }: Loose) => path);
      expect(await paths({})).toEqual([`${folder}/a.txt`, `${folder}/deep`]);
      expect(await paths({ depth: 3, pattern: "*.py" })).toEqual([`${folder}/deep/er/b.py`]);
      expect(await host.use("list_files", { ...at, path: folder, limit: 1 })).toMatchObject({ truncated: true });
      const found = await host.use("search_files", { ...at, path: folder, text: "needle" });
      expect(found.matches).toEqual([{ path: `${folder}/deep/er/b.py`, line: 1, text: "print('needle')" }]);
      await host.use("move_file", { ...at, from: `${folder}/a.txt`, to: `${folder}/c.txt` });
      const gone = { ...at, path: `${folder}/c.txt` };
      expect(await host.use("delete_file", gone)).toEqual({ deleted: true });
      expect(await host.use("delete_file", gone)).toEqual({ deleted: false });
    });
    test("30-32 resources: a large file, lists, a missing one", async () => {
      await run("head -c 2000000 /dev/zero | tr '\\0' y > /tmp/large");
      const { content } = await host.call("read_file", { ...at, path: "/tmp/large" });
      const link = content.find(({ type }: Loose) => type === "resource_link");
      const { contents } = await host.client.readResource({ uri: link.uri });
      expect(contents[0].text).toBe("y".repeat(2_000_000));
      const { resources } = await host.client.listResources();
      expect(resources.map(({ uri }: Loose) => uri)).toContain(`sandbox://team-a/${sandbox}`);
      const { resourceTemplates } = await host.client.listResourceTemplates();
      expect(resourceTemplates.map(({ name }: Loose) => name)).toEqual(["sandbox", "file", "log"]);
      const log = await host.client.readResource({ uri: `sandbox://team-a/${sandbox}/logs` });
      expect(log.contents[0]).toMatchObject({ mimeType: "text/plain", text: expect.any(String) });
      const missing = host.client.readResource({ uri: `sandbox://team-a/${sandbox}/files/absent` });
      // The server library sends this code in both protocol versions.
      await expect(missing).rejects.toMatchObject({ code: -32_602, data: { uri: expect.stringContaining("absent") } });
    });
    test("33-34 a server on loopback has an address, and the status shows its port", async () => {
      await run("cd /tmp/tree && exec python3 -m http.server 8000 --bind 127.0.0.1", { background: true });
      const { url, token, listening } = await host.use("expose_port", { ...at, port: 8000, wait_seconds: 60 });
      expect(listening).toBe(true);
      expect((await fetch(url)).status).toBe(401);
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      expect(await answer.text()).toContain("deep/");
      const { ports, memory, status } = await host.use("sandbox_status", at);
      expect(ports).toContainEqual(expect.objectContaining({ port: 8000 }));
      expect([memory.used_bytes > 0, status]).toEqual([true, "running"]);
    });
    test("35 extend", async () => {
      const { expires_at } = await host.use("extend_sandbox", { ...at, timeout_seconds: 7200 });
      const [listed] = (await host.use("list_sandboxes", { cursor: "s", labels: { team: sandbox } })).sandboxes;
      expect([listed.sandbox, Date.parse(listed.expires_at)]).toEqual([sandbox, Date.parse(expires_at)]);
    });
    test("36 pause keeps memory; the next command says how to resume", async () => {
      await host.use("run_code", { ...at, code: "kept = 'in memory'" });
      expect(await host.use("pause_sandbox", at)).toEqual({ status: "paused", memory_kept: true });
      expect((await host.use("sandbox_status", at)).status).toBe("paused");
      expect(await host.failure("run_command", { ...at, command: "true" })).toContain("Call resume_sandbox first");
      expect(await host.use("resume_sandbox", at)).toEqual({ status: "running", memory_kept: true });
      expect((await host.use("run_code", { ...at, code: "kept" })).result).toBe("'in memory'");
    });
    test("37-38 an unknown tool, and arguments that are wrong", async () => {
      await expect(host.call("no_such_tool")).rejects.toMatchObject({ code: -32_602 });
      expect(await host.failure("run_command", { ...at, command: 7 })).toContain("command");
      expect(await host.failure("run_command", { ...at, command: "true", comand: "x" })).toContain("comand");
    });
    test("39 another user's sandbox is not found", async () => {
      const { box, load } = world();
      const token = box.token("team-a", "colleague");
      await using other = await McpHost.connect(load, box, { generation, way, token });
      expect(await other.failure("run_command", { ...at, command: "true" })).toContain("Cannot find sandbox");
      expect(await other.use("delete_sandbox", at)).toEqual({ deleted: false });
      expect((await other.use("list_sandboxes")).sandboxes).toEqual([]);
      expect((await other.client.listResources()).resources).toEqual([]);
    });
    test("a fork continues from the memory of the original", async () => {
      const name = `${sandbox}-fork`;
      const made = await host.use("fork_sandbox", { ...at, name });
      expect(made).toMatchObject({ sandbox: name, memory_kept: true });
      expect((await host.use("run_code", { sandbox: name, code: "kept" })).result).toBe("'in memory'");
      expect(await host.use("delete_sandbox", { sandbox: name })).toEqual({ deleted: true });
    });
    test("40 delete", async () => {
      expect(await host.use("delete_sandbox", at)).toEqual({ deleted: true });
      expect(await host.use("delete_sandbox", at)).toEqual({ deleted: false });
      expect(await host.failure("run_command", { ...at, command: "true" })).toContain("create_sandbox makes one");
    });
  });
}
