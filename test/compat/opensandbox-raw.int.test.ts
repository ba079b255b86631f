import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";
import { untilListening, webSocketServer } from "./web-socket-server.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

interface Endpoint {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Plain requests to OpenSandbox's protocols: what no client sends, and what clients send before a sandbox runs. */
describe.skipIf(reason !== undefined)("OpenSandbox's protocols", () => {
  let box: CompatBox;
  let key: string;
  let own: string;
  let daemon: Endpoint;

  beforeAll(async () => {
    box = await CompatBox.start();
    key = box.key();
    own = await create();
    daemon = await endpointOf(own);
  }, 180_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  async function lifecycle(method: string, path: string, body?: object, by = key): Promise<Answer> {
    const headers = { "open-sandbox-api-key": by, "content-type": "application/json" };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${box.url}/v1/sandboxes${path}`, init);
    return { status: answer.status, text: await answer.text() };
  }
  async function create(): Promise<string> {
    const { status, text } = await lifecycle("POST", "", { image: { uri: "host" } });
    expect(status).toBe(202);
    return (JSON.parse(text) as { readonly id: string }).id;
  }
  async function endpointOf(id: string): Promise<Endpoint> {
    const { status, text } = await lifecycle("GET", `/${id}/endpoints/44772`);
    expect(status).toBe(200);
    return JSON.parse(text) as Endpoint;
  }
  async function execd(method: string, path: string, body?: string | object, type?: string): Promise<Answer> {
    const content = typeof body === "object" ? JSON.stringify(body) : body;
    const headers = { ...daemon.headers, "content-type": type ?? "application/json" };
    const init = { method, headers, ...(content !== undefined && { body: content }) };
    const answer = await fetch(`http://${daemon.endpoint}${path}`, init);
    return { status: answer.status, text: await answer.text() };
  }
  const statusOf = async (...request: Parameters<typeof execd>): Promise<number> => (await execd(...request)).status;
  const run = async (command: string): Promise<string> => (await execd("POST", "/command", { command })).text;

  test("the address of a sandbox that is starting is held until it can be used (COMPAT-78)", async () => {
    const id = await create();
    const [place, egress] = await Promise.all([endpointOf(id), lifecycle("GET", `/${id}/endpoints/18080`)]);
    expect(egress.status).toBe(200);
    const ping = async (): Promise<number> =>
      (await fetch(`http://${place.endpoint}/ping`, { headers: place.headers })).status;
    await expect.poll(ping, { timeout: 60_000 }).toBe(200);
    expect((await lifecycle("DELETE", `/${id}`)).status).toBe(204);
  });

  test.for([
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/renew-expiration", { expiresAt: "2100-01-01T00:00:00Z" }],
    ["PATCH", "/metadata", { a: "planted" }],
    ["GET", "/endpoints/44772"],
    ["GET", "/networkpolicy"],
    ["POST", "/snapshots", {}],
  ] as const)("the sandbox of another namespace is not found by %s %s", async ([method, path, body]) => {
    const foreign = box.key("team-b");
    expect((await lifecycle(method, `/${own}${path}`, body, foreign)).status).toBe(404);
    expect((await lifecycle(method, `/${own}${path}`, body, `${box.token("team-b")}@team-a`)).status).toBe(403);
    expect((await lifecycle("GET", "", undefined, foreign)).text).toContain('"totalItems":0');
  });

  test.for(["absent", "../x", `${"a".repeat(19)}1`, "__proto__"])(
    "the snapshot %j is not found",
    async (snapshotId) => {
      const made = await lifecycle("POST", "", { snapshotId });
      expect([made.status, made.text]).toEqual([404, expect.stringContaining("SNAPSHOT::NOT_FOUND")]);
      const headers = { "open-sandbox-api-key": key };
      for (const method of ["GET", "DELETE"]) {
        const path = `${box.url}/v1/snapshots/${encodeURIComponent(snapshotId)}`;
        expect((await fetch(path, { method, headers })).status).toBe(404);
      }
    },
  );

  test.for([
    ["no form", "application/octet-stream", "x", 400],
    ["no boundary", "multipart/form-data", "x", 400],
    [
      "a form that ends early",
      "multipart/form-data; boundary=B",
      '--B\r\nContent-Disposition: form-data; name="f"',
      400,
    ],
    ["a file without metadata", "multipart/form-data; boundary=B", part("file", "x"), 400],
    ["metadata without a file", "multipart/form-data; boundary=B", part("metadata", '{"path":"/tmp/never"}'), 400],
    ["metadata that is not JSON", "multipart/form-data; boundary=B", part("metadata", "{") + part("file", "x"), 400],
    ["too much metadata", "multipart/form-data; boundary=B", part("metadata", "x".repeat(20_000)), 400],
    ["metadata without a path", "multipart/form-data; boundary=B", part("metadata", "{}") + part("file", "x"), 400],
    ["a directory", "multipart/form-data; boundary=B", part("metadata", '{"path":"/tmp"}') + part("file", "x"), 400],
    ["a mode", "multipart/form-data; boundary=B", part("metadata", '{"path":"/tmp/never","mode":9}'), 400],
    ["an owner", "multipart/form-data; boundary=B", part("metadata", '{"path":"/tmp/never","owner":"-R"}'), 400],
  ] as const)("an upload with %s is refused", async ([, type, body, status]) => {
    expect(await statusOf("POST", "/files/upload", type.includes("=B") ? `${body}--B--\r\n` : body, type)).toBe(status);
    expect(await run("ls /tmp/never")).toContain("No such file");
  });

  test("many files in one form, each with its own mode", async () => {
    const files = Array.from({ length: 300 }, (_, index) => {
      const metadata = { path: `/tmp/many/${index}`, mode: index % 2 === 0 ? 600 : 644 };
      return part("metadata", JSON.stringify(metadata)) + part("file", `content of ${index}`);
    });
    const type = "multipart/form-data; boundary=B";
    expect(await statusOf("POST", "/files/upload", `${files.join("")}--B--\r\n`, type)).toBe(200);
    expect(await run("cat /tmp/many/299; stat -c %a /tmp/many/299; ls /tmp/many | wc -l")).toMatch(
      /content of 299644.*300/s,
    );
  });

  test.for([
    ["GET", "/files/download", 400],
    ["GET", "/files/download?path=/tmp", 400],
    ["GET", "/files/download?path=/absent", 404],
    ["GET", "/files/download?path=/etc/hostname%00", 400],
    ["GET", "/files/download?path=/etc/passwd&offset=0", 400],
    ["GET", "/files/download?path=/etc/passwd&limit=-1", 400],
    ["GET", "/files/info", 400],
    ["GET", "/files/info?path=/absent", 404],
    ["GET", "/files/search?pattern=*", 400],
    ["GET", "/files/search?path=/etc/passwd", 400],
    ["GET", "/files/search?path=/tmp&pattern=a/b", 400],
    ["GET", `/files/search?path=/tmp&pattern=${"{a,b}".repeat(9)}`, 400],
    ["GET", "/directories/list?path=/tmp&depth=0", 400],
    ["GET", "/directories/list?path=/tmp&depth=1e9", 400],
    ["DELETE", "/files", 400],
    ["DELETE", "/directories", 400],
    ["DELETE", "/files?path=/tmp/full", 409],
    ["GET", "/code/contexts?language=cobol", 400],
    ["GET", "/code/contexts/absent", 404],
    ["DELETE", "/code/contexts/..%2Fx", 404],
    ["DELETE", "/code/contexts", 400],
    ["DELETE", "/code", 400],
    ["DELETE", "/code?id=absent", 500],
    ["GET", "/v1/filesystem/0/0/files/info?path=/etc", 501],
    ["POST", "/v1/isolated/session", 501],
    ["GET", "/pty/x", 501],
    ["GET", "/constructor", 404],
  ] as const)("%s %s is answered with %i", async ([method, path, status]) => {
    await run("mkdir -p /tmp/full/x");
    const answer = await execd(method, path);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code: expect.stringMatching(/^[A-Z:_]+$/) });
  });
  test("isolated sessions are not available", async () => {
    expect(JSON.parse((await execd("GET", "/v1/isolated/capabilities")).text)).toMatchObject({ available: false });
  });

  test.for([
    ["/files/mv", {}, 400],
    ["/files/mv", [{ src: "/a" }], 400],
    ["/files/mv", ["/a"], 400],
    ["/files/permissions", { "/absent": { mode: 644 } }, 404],
    ["/files/permissions", { "/tmp": { mode: "644" } }, 400],
    ["/files/permissions", { "/tmp": { owner: "--reference=/etc/passwd" } }, 400],
    ["/files/permissions", { "/tmp": { owner: "nobody-of-that-name" } }, 500],
    ["/directories", { "/etc/passwd": { mode: 755 } }, 409],
    ["/directories", { "/tmp/x": 1 }, 400],
    ["/files/replace", { "/absent": { old: "a", new: "b" } }, 404],
    ["/files/replace", { "/tmp": { old: "a", new: "b" } }, 400],
    ["/files/replace", { "/etc/passwd": { old: "", new: "b" } }, 400],
    ["/files/replace", { "/tmp/x": { old: "a" }, "/etc/passwd": [] }, 400],
    ["/code", {}, 400],
    ["/code", { code: "1", context: { language: "cobol" } }, 400],
    ["/code", { code: "1", context: { id: "absent" } }, 404],
    ["/code/context", { language: "__proto__" }, 400],
    ["/command", { command: "x", argv: ["y"] }, 400],
    ["/session", { cwd: "/absent" }, 404],
    ["/session/0123/run", { command: "x" }, 404],
  ] as const)("POST %s of %j is refused with %i", async ([path, body, status]) => {
    expect(await statusOf("POST", path, body)).toBe(status);
  });

  test("WebSockets through the address of a port, with its header", async () => {
    const file = part("metadata", '{"path":"/tmp/server.py"}') + part("file", webSocketServer);
    expect(await statusOf("POST", "/files/upload", `${file}--B--\r\n`, "multipart/form-data; boundary=B")).toBe(200);
    await execd("POST", "/command", { command: "exec python3 /tmp/server.py", background: true });
    await run(untilListening);
    const { text } = await lifecycle("GET", `/${own}/endpoints/9000`);
    const { endpoint, headers } = JSON.parse(text) as Endpoint;
    const socket = new WebSocket(`ws://${endpoint}/socket`, { headers: { ...headers } });
    await once(socket, "open");
    socket.send("hello");
    const [message] = await once(socket, "message");
    expect(String(message)).toBe("you said hello");
    socket.terminate();
    const [error] = await once(new WebSocket(`ws://${endpoint}/socket`), "error");
    expect(String(error)).toContain("401");
  });

  test("a replacement that would make a file very large is refused, and the file stays", async () => {
    await run("head -c 1000000 /dev/zero | tr '\\0' a > /tmp/grow");
    const body = { "/tmp/grow": { old: "a", new: "b".repeat(1000) } };
    expect(await statusOf("POST", "/files/replace", body)).toBe(400);
    expect(await run("stat -c %s /tmp/grow")).toContain("1000000");
  });

  test("samples of metrics are sent until the client leaves", async () => {
    const gone = new AbortController();
    const answer = await fetch(`http://${daemon.endpoint}/metrics/watch`, {
      headers: { ...daemon.headers },
      signal: gone.signal,
    });
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.split("\n\n").length > 2) break;
    }
    gone.abort();
    expect(JSON.parse(text.split("\n\n")[1]?.slice("data: ".length) ?? "")).toMatchObject({
      cpu_count: expect.any(Number),
      mem_used_mib: expect.any(Number),
    });
  });
});

function part(name: string, content: string): string {
  return `--B\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\n\r\n${content}\r\n`;
}
