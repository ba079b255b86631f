import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { type Answer, jsonOf, open } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { multipart } from "../multipart.ts";
import { ports, type Subject } from "../subject.ts";

const put = (at: Subject, path: string, body: string | Buffer, headers = {}): Promise<Answer> =>
  at.rest(`/files/${path}`, { method: "PUT", body, headers });
const remove = (at: Subject, path: string): Promise<Answer> => at.rest(`/files/${path}`, { method: "DELETE" });
const codeOf = (answer: Answer): [number, string] => [answer.status, jsonOf<{ code: string }>(answer).code];
const names = async (at: Subject, path: string): Promise<string[]> =>
  jsonOf<{ entries: { name: string }[] }>(await at.rest(`/files/${path}`)).entries.map(({ name }) => name);

export const rest: Rows<"rest"> = {
  "a file can be written, read, probed and deleted": async ({ expect, subject }) => {
    expect((await put(subject, "note", "hello")).status).toBe(204);
    const got = await subject.rest("/files/note");
    const head = await subject.rest("/files/note", { method: "HEAD" });
    const expected = {
      "content-type": "application/octet-stream",
      "content-length": "5",
      "accept-ranges": "bytes",
      "last-modified": expect.any(String),
    };
    expect([got.status, got.text, got.headers]).toEqual([200, "hello", expect.objectContaining(expected)]);
    expect([head.status, head.text, head.headers]).toEqual([200, "", expect.objectContaining(expected)]);
    expect((await remove(subject, "note")).status).toBe(204);
    expect((await subject.rest("/files/note", { method: "HEAD" })).status).toBe(404);
  },

  "a download supports ranges and conditions": async ({ expect, subject }) => {
    await put(subject, "ten", "0123456789");
    const get = (headers: Record<string, string>): Promise<Answer> => subject.rest("/files/ten", { headers });
    const part = await get({ range: "bytes=-3" });
    expect([part.status, part.text, part.headers["content-range"]]).toEqual([206, "789", "bytes 7-9/10"]);
    expect((await get({ range: "bytes=10-" })).status).toBe(416);
    const date = part.headers["last-modified"] ?? "";
    expect((await get({ "if-modified-since": date })).status).toBe(304);
    expect((await get({ "if-range": date, range: "bytes=0-0" })).text).toBe("0");
    expect((await get({ "if-range": "Thu, 01 Jan 1970 00:00:00 GMT", range: "bytes=0-0" })).status).toBe(200);
  },

  "a directory listing is sorted and has modes and times": async ({ expect, subject }) => {
    await subject.shell(
      "mkdir -p shelf/z; printf abc > shelf/b; chmod 0640 shelf/b; touch -d @1787000000 shelf/b shelf/z",
    );
    const answer = await subject.rest("/files/shelf/");
    const modified_at = new Date(1787000000_000).toISOString().replace(".000", "");
    expect([answer.status, jsonOf(answer)]).toEqual([
      200,
      {
        path: "/shelf/",
        entries: [
          { name: "b", size: 3, type: "file", modified_at, mode: "0640" },
          { name: "z", size: expect.any(Number), type: "directory", modified_at, mode: "0755" },
        ],
      },
    ]);
  },

  "an empty directory has no entries": async ({ expect, subject }) => {
    await subject.shell("mkdir -p empty");
    expect((await subject.rest("/files/empty")).text).toBe('{"path":"/empty","entries":[]}');
  },

  "a listing follows links inside and omits the others": async ({ expect, subject }) => {
    await subject.shell(
      "mkdir -p links/d; printf 12345 > links/f; cd links; ln -sfn f to-f; ln -sfn d to-d; ln -sfn none dangling; ln -sfn /etc out",
    );
    const { entries } = jsonOf<{ entries: { name: string; type: string; size: number }[] }>(
      await subject.rest("/files/links"),
    );
    expect(entries.map(({ name, type }) => `${name} ${type}`)).toEqual([
      "d directory",
      "f file",
      "to-d directory",
      "to-f file",
    ]);
    expect(entries.find(({ name }) => name === "to-f")?.size).toBe(5);
  },

  "a mode has four octal digits with a leading zero": async ({ expect, subject }) => {
    for (const mode of ["0999", "777", "abcd", "01777", ""]) {
      expect(codeOf(await put(subject, `moded?mode=${mode}`, "x"))).toEqual([400, "INVALID_ARGUMENT"]);
    }
    for (const mode of ["0755", "0600", "0777"]) {
      await put(subject, `moded?mode=${mode}`, "x");
      expect(await subject.shell("stat -c 0%a moded")).toBe(`${mode}\n`);
    }
    await put(subject, "unmoded", "x");
    expect(await subject.shell("stat -c 0%a unmoded")).toBe("0644\n");
  },

  "parent directories are created": async ({ expect, subject }) => {
    expect((await put(subject, "p%2Fq%2Fr", "x")).status).toBe(204);
    expect(await subject.shell("stat -c 0%a p p/q")).toBe("0755\n0755\n");
  },

  "the first file of a multipart body is used": async ({ expect, subject }) => {
    const form = multipart([
      { name: "other", content: "no" },
      { name: "file", filename: "ignored", content: "yes" },
      { name: "file", filename: "ignored", content: "late" },
    ]);
    expect((await put(subject, "form", form.body, form.headers)).status).toBe(204);
    expect((await subject.rest("/files/form")).text).toBe("yes");
    const without = multipart([{ name: "other", content: "no" }]);
    expect(codeOf(await put(subject, "form", without.body, without.headers))).toEqual([400, "INVALID_ARGUMENT"]);
    expect(codeOf(await put(subject, "form", "nonsense", form.headers))).toEqual([400, "INVALID_ARGUMENT"]);
    expect((await subject.rest("/files/form")).text).toBe("yes");
  },

  "a directory cannot be overwritten": async ({ expect, subject }) => {
    await subject.shell("mkdir -p solid");
    for (const path of ["solid", "", "."]) {
      expect(codeOf(await put(subject, path, "x"))).toEqual([400, "INVALID_ARGUMENT"]);
    }
  },

  "a write follows a link": async ({ expect, subject }) => {
    await subject.shell("printf old > aim; ln -sfn aim pointer");
    expect((await put(subject, "pointer", "new")).status).toBe(204);
    expect(await subject.shell("cat aim; readlink pointer")).toBe("newaim\n");
  },

  "an aborted upload leaves nothing behind": async ({ expect, subject }) => {
    await subject.shell("mkdir -p calm; printf old > calm/file");
    const { host, port } = subject.router;
    const headers = { ...subject.headers(ports.rest), "content-length": "1000000" };
    const sent = request({ host, port, path: "/v1/files/calm/file", method: "PUT", headers, agent: false });
    sent.on("error", () => undefined);
    sent.write(Buffer.alloc(500_000));
    await expect.poll(() => subject.shell("ls -A calm | wc -l")).toBe("2\n");
    sent.destroy();
    await expect.poll(() => subject.shell("ls -A calm; cat calm/file")).toBe("file\nold");
  },

  "a file is replaced atomically": async ({ expect, subject }) => {
    const contents = ["a", "b"].map((letter) => letter.repeat(200_000));
    await put(subject, "whole", contents[0] ?? "");
    const writing = (async () => {
      for (let round = 0; round < 10; round++) await put(subject, "whole", contents[round % 2] ?? "");
    })();
    const seen = new Set<string>();
    for (let round = 0; round < 20; round++) seen.add((await subject.rest("/files/whole")).text);
    await writing;
    expect([...seen].filter((text) => !contents.includes(text))).toEqual([]);
  },

  "an open download survives a delete": async ({ expect, subject }) => {
    await subject.shell("head -c 16000000 /dev/zero > doomed");
    const { router } = subject;
    const response = await open(router, "/v1/files/doomed", { headers: subject.headers(ports.rest) });
    expect((await remove(subject, "doomed")).status).toBe(204);
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(16_000_000);
  },

  "bodies have no size limit": async ({ expect, subject }) => {
    const content = randomBytes(12 << 20);
    const digest = createHash("sha256").update(content).digest("hex");
    expect((await put(subject, "big", content)).status).toBe(204);
    expect(await subject.shell("sha256sum big")).toBe(`${digest}  big\n`);
    const { body } = await subject.rest("/files/big");
    expect(createHash("sha256").update(body).digest("hex")).toBe(digest);
    await remove(subject, "big");
  },

  "paths are decoded once, with and without encoded slashes": async ({ expect, subject }) => {
    await put(subject, "way%2Fa%20b%2541", "x");
    expect(await subject.shell("ls way")).toBe("a b%41\n");
    for (const path of ["way/a%20b%2541", "%2Fway%2Fa%20b%2541", "/way/a%20b%2541"]) {
      expect([path, (await subject.rest(`/files/${path}`)).text]).toEqual([path, "x"]);
    }
  },

  "the root's own path as a prefix is removed once": async ({ expect, subject }) => {
    await put(subject, "%2Fworkspace%2Frooted", "outer");
    await put(subject, "workspace%2Frooted", "inner");
    expect(await subject.shell("cat /workspace/rooted /workspace/workspace/rooted")).toBe("outerinner");
    await remove(subject, "workspace?recursive=true");
  },

  "no path leaves the root": async ({ expect, subject }) => {
    await subject.shell("mkdir -p /workspace-evil; printf x > /workspace-evil/f; ln -sfn /workspace-evil way-out");
    const ways = ["%2E%2E%2Fetc%2Fpasswd", "..%2Fworkspace-evil%2Ff", "way-out/f", "a/%2e%2e/%2e%2e/etc/passwd"];
    for (const path of ways) {
      for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
        const { status } = await subject.rest(`/files/${path}`, { method, body: method === "PUT" ? "x" : "" });
        expect([method, path, status]).toEqual([method, path, 403]);
      }
    }
    expect(await subject.shell("cat /workspace-evil/f")).toBe("x");
  },

  "delete refuses a directory that is not empty unless recursive": async ({ expect, subject }) => {
    await subject.shell("mkdir -p full/er bare; touch full/er/f");
    expect((await remove(subject, "bare")).status).toBe(204);
    expect(codeOf(await remove(subject, "full"))).toEqual([409, "CONFLICT"]);
    expect((await remove(subject, "full?recursive=true")).status).toBe(204);
    expect(codeOf(await remove(subject, "full"))).toEqual([404, "NOT_FOUND"]);
  },

  "the root itself is not deleted": async ({ expect, subject }) => {
    await put(subject, "something", "x");
    expect(codeOf(await remove(subject, ""))).toEqual([409, "CONFLICT"]);
    expect((await remove(subject, "?recursive=true")).status).toBe(204);
    expect(await names(subject, "")).toEqual([]);
  },

  "flags are booleans": async ({ expect, subject }) => {
    expect(codeOf(await remove(subject, "x?recursive=banana"))).toEqual([400, "INVALID_ARGUMENT"]);
    for (const flag of ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"]) {
      expect([flag, ...codeOf(await remove(subject, `x?recursive=${flag}`))]).toEqual([flag, 404, "NOT_FOUND"]);
    }
  },

  "errors have a code and a message": async ({ expect, subject }) => {
    const answer = await subject.rest("/files/none");
    expect([answer.status, answer.headers["content-type"], jsonOf(answer)]).toEqual([
      404,
      "application/json",
      { code: "NOT_FOUND", message: expect.any(String) },
    ]);
  },

  "unknown routes and methods get plain 404 and 405": async ({ expect, subject }) => {
    const unknown = await subject.rest("/nothing");
    expect([unknown.status, unknown.headers["content-type"]]).toEqual([404, expect.stringMatching(/^text\/plain/)]);
    const wrong = await subject.rest("/files/x", { method: "PATCH" });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, expect.stringContaining("PUT")]);
  },

  "health reports the uptime": async ({ expect, subject }) => {
    expect(jsonOf(await subject.rest("/health"))).toEqual({ status: "ok", uptime_seconds: expect.any(Number) });
  },

  "metadata shows public variables only": async ({ expect, subject }) => {
    expect(jsonOf(await subject.rest("/metadata"))).toEqual({ env: { SANDBOX_COLOUR: "green" } });
  },
};
