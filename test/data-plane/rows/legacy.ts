import { jsonOf } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { multipart } from "../multipart.ts";
import { withDaemon } from "../second-daemon.ts";
import type { Subject } from "../subject.ts";

const upload = (at: Subject, parts: Parameters<typeof multipart>[0]) =>
  at.legacy("/upload", { method: "POST", ...multipart(parts) });

const denied = [403, '{"message":"Access denied"}'];

export const legacy: Rows<"legacy"> = {
  "health check has the established body": async ({ expect, subject }) => {
    const { status, text } = await subject.legacy("/");
    expect([status, text]).toEqual([200, '{"status":"ok","message":"Sandbox Runtime is active."}']);
  },

  "execute returns output and exit code": async ({ expect, subject }) => {
    const ran = await subject.execute(`sh -c "echo out; echo err >&2; exit 7"`);
    expect(ran).toEqual({ stdout: "out\n", stderr: "err\n", exit_code: 7 });
  },

  "execute splits words without a shell": async ({ expect, subject }) => {
    const outputs = await Promise.all(
      ["echo hi > x", `echo a\\ b "c  d"'e'`, "echo $HOME *"].map(async (line) => (await subject.execute(line)).stdout),
    );
    expect(outputs).toEqual(["hi > x\n", "a b c  de\n", "$HOME *\n"]);
  },

  "execute runs in the base directory with the daemon's environment": async ({ expect, subject }) => {
    expect(await subject.shell("pwd; echo $COLOUR")).toBe("/workspace\nred\n");
  },

  "execute returns -n for signal n": async ({ expect, subject }) => {
    expect(await subject.execute("sh -c 'kill -TERM $$'")).toEqual({ stdout: "", stderr: "", exit_code: -15 });
  },

  "execute reports in the body why a command could not run": async ({ expect, subject }) => {
    for (const command of ["no-such-program", `echo "open`, "", "/etc/passwd"]) {
      const { stdout, stderr, exit_code } = await subject.execute(command);
      expect({ stdout, exit_code, stderr: stderr.slice(0, 27) }).toEqual({
        stdout: "",
        exit_code: 1,
        stderr: "Failed to execute command: ",
      });
    }
  },

  "execute refuses malformed bodies": async ({ expect, subject }) => {
    for (const body of ["", "{}", '{"command":5}', '{"command":', "[]"]) {
      const answer = await subject.legacy("/execute", { method: "POST", body });
      expect([body, answer.status]).toEqual([body, 422]);
      const [complaint] = jsonOf<{ detail: object[] }>(answer).detail;
      expect(Object.keys(complaint ?? {})).toEqual(expect.arrayContaining(["type", "loc", "msg", "input"]));
    }
  },

  "execute kills the process group on a timeout": async ({ expect, subject }) => {
    const command = "sh -c 'echo first; sleep 7001 & sleep 7001'";
    const body = JSON.stringify({ command, timeout_seconds: 0.5 });
    const answer = await subject.legacy("/execute", { method: "POST", body });
    expect(jsonOf(answer)).toEqual({ stdout: "first\n", stderr: "", exit_code: 124, timed_out: true });
    await expect.poll(() => running(subject, "sleep 7001"), { timeout: 5000 }).toBe(0);
  },

  "execute waits for background children": async ({ expect, subject }) => {
    expect(await subject.shell("(sleep 0.3; echo late) & echo now")).toBe("now\nlate\n");
  },

  "execute queues commands while other routes still respond": async ({ expect, subject }) => {
    const many = Promise.all(Array.from({ length: 40 }, () => subject.execute("sleep 0.5")));
    expect((await subject.legacy("/exists/x")).status).toBe(200);
    expect((await many).map(({ exit_code }) => exit_code)).toEqual(Array(40).fill(0));
  },

  "upload creates parents and returns the name": async ({ expect, subject }) => {
    const { status, text } = await upload(subject, [{ name: "file", filename: "deep/er/a.txt", content: "hello" }]);
    expect([status, text]).toEqual([200, `{"message":"File 'deep/er/a.txt' uploaded successfully."}`]);
    expect((await subject.legacy("/download/deep%2Fer%2Fa.txt")).text).toBe("hello");
  },

  "upload refuses paths outside of the base, missing files and directories": async ({ expect, subject }) => {
    await subject.shell("mkdir -p taken; ln -sfn /etc outside");
    for (const filename of ["../evil", "outside/evil"]) {
      const { status, text } = await upload(subject, [{ name: "file", filename, content: "x" }]);
      expect([status, text]).toEqual(denied);
    }
    expect((await upload(subject, [{ name: "other", filename: "x", content: "x" }])).status).toBe(422);
    const { status, text } = await upload(subject, [{ name: "file", filename: "taken", content: "x" }]);
    expect([status, text.slice(0, 32)]).toEqual([500, '{"message":"File upload failed: ']);
  },

  "download has the established headers": async ({ expect, subject }) => {
    await subject.shell("printf 0123456789 > ten");
    const { status, headers, text } = await subject.legacy("/download/ten");
    expect([status, text]).toEqual([200, "0123456789"]);
    expect(headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": 'attachment; filename="ten"',
      "accept-ranges": "bytes",
      etag: expect.any(String),
      "last-modified": expect.any(String),
    });
  },

  "download supports ranges": async ({ expect, subject }) => {
    await subject.shell("printf 0123456789 > ten");
    const one = await subject.legacy("/download/ten", { headers: { range: "bytes=2-4" } });
    expect([one.status, one.text, one.headers["content-range"]]).toEqual([206, "234", "bytes 2-4/10"]);
    const two = await subject.legacy("/download/ten", { headers: { range: "bytes=0-1,8-9" } });
    expect([two.status, two.headers["content-type"]]).toEqual([206, expect.stringMatching(/^multipart\/byteranges/)]);
    expect(two.text).toMatch(/\r\n\r\n01\r\n[^]*\r\n\r\n89\r\n/);
  },

  "download returns files only": async ({ expect, subject }) => {
    await subject.shell("mkdir -p folder");
    for (const path of ["none", "folder"]) {
      const { status, text } = await subject.legacy(`/download/${path}`);
      expect([status, text]).toEqual([404, '{"message":"File not found"}']);
    }
  },

  "list returns the base for an empty path and a dot": async ({ expect, subject }) => {
    await subject.shell("mkdir -p listed/inner; printf abc > listed/file; touch -d @1787000000.25 listed/file");
    const entries = jsonOf<object[]>(await subject.legacy("/list/listed"));
    expect(entries).toEqual([
      { name: "file", size: 3, type: "file", mod_time: 1787000000.25 },
      { name: "inner", size: expect.any(Number), type: "directory", mod_time: expect.any(Number) },
    ]);
    for (const path of ["/list/", "/list/."]) {
      const names = jsonOf<{ name: string }[]>(await subject.legacy(path)).map(({ name }) => name);
      expect(names).toContain("listed");
    }
  },

  "list refuses a path that is not a directory": async ({ expect, subject }) => {
    await subject.shell("touch plain");
    for (const path of ["none", "plain"]) {
      const { status, text } = await subject.legacy(`/list/${path}`);
      expect([status, text]).toEqual([404, '{"message":"Path is not a directory"}']);
    }
  },

  "a missing path means the base directory, without a redirect": async ({ expect, subject }) => {
    const { status, text } = await subject.legacy("/list");
    expect([status, text]).toEqual([200, (await subject.legacy("/list/.")).text]);
    expect((await subject.legacy("/exists")).text).toBe('{"path":".","exists":true}');
  },

  "exists returns the path": async ({ expect, subject }) => {
    await subject.shell("mkdir -p in; touch in/report");
    expect((await subject.legacy("/exists/in%2Freport")).text).toBe('{"path":"in/report","exists":true}');
    expect((await subject.legacy("/exists/no%20where")).text).toBe('{"path":"no where","exists":false}');
  },

  "no path leaves the base directory": async ({ expect, subject }) => {
    await subject.shell("ln -sfn /etc outside");
    for (const route of ["download", "list", "exists"]) {
      for (const path of [
        "..%2F..%2Fetc%2Fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "%2F..%2Fetc%2Fpasswd",
        "outside/passwd",
      ]) {
        const { status, text } = await subject.legacy(`/${route}/${path}`);
        expect([route, path, status, text]).toEqual([route, path, ...denied]);
      }
    }
    // A leading slash means the base directory.
    expect((await subject.legacy("/download/%2Fetc%2Fpasswd")).status).toBe(404);
  },

  "unknown methods and routes get 405 and 404": async ({ expect, subject }) => {
    for (const path of ["/", "/list/", "/download/x", "/exists/x"]) {
      expect((await subject.legacy(path, { method: "HEAD" })).status).toBe(405);
      const { status, text, headers } = await subject.legacy(path, { method: "POST" });
      expect([status, text, headers.allow]).toEqual([405, '{"detail":"Method Not Allowed"}', "GET"]);
    }
    expect((await subject.legacy("/execute")).headers.allow).toBe("POST");
    const { status, text } = await subject.legacy("/nothing");
    expect([status, text]).toEqual([404, '{"detail":"Not Found"}']);
  },

  "base directory and timeout are read from the environment": async ({ expect, subject }) => {
    await subject.shell("mkdir -p /var/tmp/base");
    const envVars = { SANDBOX_BASE_DIR: "/var/tmp/base", SANDBOX_EXEC_TIMEOUT_SECONDS: "0.5" };
    await withDaemon(subject, { envVars }, async (daemon) => {
      const run = async (command: string) =>
        jsonOf<object>(await daemon.legacy("/execute", { method: "POST", body: JSON.stringify({ command }) }));
      expect(await run("pwd")).toEqual({ stdout: "/var/tmp/base\n", stderr: "", exit_code: 0 });
      expect(await run("sleep 7002")).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("timed out") });
    });
  },
};

/** The number of processes with this command line. */
export async function running(at: Subject, commandLine: string): Promise<number> {
  const [first = "", ...rest] = commandLine;
  // The pattern must not match the shell that runs the search.
  return Number(await at.shell(`ps -eo args= | grep -c "^[${first}]${rest.join("")}" || true`));
}
