import { createInterface } from "node:readline";
import { type Answer, jsonOf, open } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import { ports, type Subject } from "../subject.ts";

const post = (at: Subject, path: string, body: object): Promise<Answer> =>
  at.rest(path, { method: "POST", body: JSON.stringify(body) });

export const restExtensions: Rows<"restExtensions"> = {
  "stat, mkdir, move, copy, chmod": async ({ expect, subject }) => {
    const statuses = [
      await post(subject, "/fs/mkdir", { path: "made/in", mode: "0700" }),
      await subject.rest("/files/made/in/f?mode=0640", { method: "PUT", body: "content" }),
      await post(subject, "/fs/copy", { from: "made", to: "copied" }),
      await post(subject, "/fs/move", { from: "copied/in/f", to: "moved/f" }),
      await post(subject, "/fs/chmod", { path: "moved", mode: "0711", recursive: true }),
      await post(subject, "/fs/move", { from: "made/in/f", to: "moved/f" }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([204, 204, 204, 204, 204, 409]);
    const stat = jsonOf(await subject.rest("/stat/moved/f"));
    expect(stat).toMatchObject({ path: "/moved/f", name: "f", size: 7, type: "file", mode: "0711", uid: 0, gid: 0 });
    await post(subject, "/fs/mkdir", { path: "made/in" });
    expect(await subject.shell("stat -c %a made/in; cat made/in/f")).toBe("700\ncontent");
  },

  "trees and pages of listings": async ({ expect, subject }) => {
    await subject.shell("mkdir -p wood/a/b; touch wood/a/b/1.txt wood/a/2.txt wood/c.go");
    const lines = (await subject.rest("/tree/wood?match=*.txt")).text.trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual([
      "/wood/a/2.txt",
      "/wood/a/b/1.txt",
    ]);
    const page = await subject.rest("/files/wood?limit=1");
    const { entries } = jsonOf<{ entries: { name: string }[] }>(page);
    expect([entries.map(({ name }) => name), page.headers["x-more-entries"]]).toEqual([["a"], "true"]);
  },

  "changes can be watched": async ({ expect, subject }) => {
    await subject.shell("rm -rf seen; mkdir seen");
    const response = await open(subject.router, "/v1/watch/seen?recursive=true", {
      headers: subject.headers(ports.rest),
    });
    const lines = createInterface(response)[Symbol.asyncIterator]();
    const next = async (): Promise<{ type: string; path?: string }> =>
      JSON.parse((await lines.next()).value as string) as { type: string };
    expect(await next()).toMatchObject({ type: "ready" });
    await subject.shell("mkdir seen/deep; touch seen/deep/file");
    const paths: (string | undefined)[] = [];
    while (!paths.includes("/seen/deep/file")) paths.push((await next()).path);
    expect(paths[0]).toBe("/seen/deep");
    response.destroy();
  },

  "archives can be packed and unpacked": async ({ expect, subject }) => {
    await subject.shell(
      "mkdir -p packed/sub; printf x > packed/sub/f; chmod 0750 packed/sub/f; ln -sfn sub/f packed/l",
    );
    const { status, body } = await subject.rest("/archive/packed?gzip=true");
    expect([status, body.subarray(0, 2).toString("hex")]).toEqual([200, "1f8b"]);
    expect((await subject.rest("/archive/unpacked", { method: "PUT", body })).status).toBe(204);
    expect(await subject.shell("cd unpacked; cat l; stat -c %a sub/f")).toBe("x750\n");
  },

  "conditional writes, ranges and appends": async ({ expect, subject }) => {
    const write = (query: string, body: string, headers = {}): Promise<Answer> =>
      subject.rest(`/files/cond${query}`, { method: "PUT", body, headers });
    await subject.rest("/files/cond", { method: "DELETE" });
    expect((await write("", "abcdef", { "if-none-match": "*" })).status).toBe(204);
    expect((await write("", "no", { "if-none-match": "*" })).status).toBe(412);
    const { etag = "" } = (await subject.rest("/files/cond")).headers;
    expect((await write("", "no", { "if-match": '"other"' })).status).toBe(412);
    expect((await write("", "ABCDEF", { "if-match": etag })).status).toBe(204);
    expect((await write("", "xy", { "content-range": "bytes 1-2/*" })).status).toBe(204);
    expect((await write("?append=true", "!")).status).toBe(204);
    expect((await subject.rest("/files/cond")).text).toBe("AxyDEF!");
  },

  "ports, usage, activity": async ({ expect, subject }) => {
    const { ports: listed } = jsonOf<{ ports: { port: number }[] }>(await subject.rest("/ports"));
    expect(listed.map(({ port }) => port)).toEqual(expect.arrayContaining(Object.values(ports)));
    expect(jsonOf(await subject.rest("/ports/8000?http=/healthz"))).toMatchObject({ port: 8000, ready: true });
    expect(jsonOf(await subject.rest("/ports/1"))).toMatchObject({ port: 1, ready: false });
    expect(jsonOf(await subject.rest("/usage"))).toMatchObject({
      cpu: { used_seconds: expect.any(Number) },
      memory: { used_bytes: expect.any(Number) },
      processes: { count: expect.any(Number) },
    });
    const busy = subject.execute("sleep 2");
    await expect
      .poll(async () => jsonOf<{ busy: boolean; running_processes: number }>(await subject.rest("/activity")))
      .toMatchObject({ busy: true, running_processes: expect.any(Number) });
    await busy;
  },

  "a lease taken inside keeps the sandbox awake until it ends": async ({ expect, slow }) => {
    const { leasedUntil, asleepSince } = await (await slow).leased;
    // Its idle time is ten seconds, its lease lasts 25 s, and there were no requests in between.
    expect(asleepSince).toBeGreaterThanOrEqual(leasedUntil);
  },

  "leases can be acquired and released, also from inside": async ({ expect, subject }) => {
    const script =
      'curl -sS --unix-socket "$SANDBOXD_SOCKET" -X PUT "http://sandbox/v1/leases/job?ttl=5m" -o /dev/null';
    await subject.shell(script);
    const { leases } = jsonOf<{ leases: { name: string }[] }>(await subject.rest("/leases"));
    expect(leases.map(({ name }) => name)).toEqual(["job"]);
    expect(jsonOf(await subject.rest("/activity"))).toMatchObject({ busy: true });
    expect((await subject.rest("/leases/job", { method: "DELETE" })).status).toBe(204);
    expect((await subject.rest("/leases/x?ttl=48h", { method: "PUT" })).status).toBe(400);
  },

  "code contexts keep their variables": async ({ expect, subject }) => {
    const languages = {
      python: ["x = 20", "print('hi'); x + 22", "1 / 0", "ZeroDivisionError"],
      javascript: ["const x = 20", "console.log('hi'); x + 22", "nothing.here", "ReferenceError"],
    } as const;
    for (const [language, [define, use, fail, error]] of Object.entries(languages)) {
      const made = await post(subject, "/contexts", { language });
      const { id } = jsonOf<{ id: string }>(made);
      expect(made.status).toBe(201);
      const run = async (code: string) => jsonOf(await post(subject, `/contexts/${id}/execute`, { code }));
      await run(define);
      const used = { stdout: "hi\n", results: [{ "text/plain": "42" }], execution_count: 2 };
      expect(await run(use)).toMatchObject(used);
      expect(await run(fail)).toMatchObject({ error: { name: error } });
      expect((await subject.rest(`/contexts/${id}`, { method: "DELETE" })).status).toBe(204);
    }
  },
};
