import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, execute, type Outcome, whyNoBox } from "../e2e/box.ts";

const root = `${import.meta.dirname}/../..`;
/** A user of the machine without any rights, and a group that every Debian has. */
const [nobody, group] = [65_534, "games"];
const gid = Number(spawnSync("getent", ["group", group], { encoding: "utf8" }).stdout.split(":")[2]);
const as = (ids: readonly string[]): string[] => ["--reuid", String(nobody), ...ids, "env", "HOME=/nonexistent"];
const member = as(["--regid", String(gid), "--clear-groups"]);
const stranger = as(["--regid", String(nobody), "--clear-groups"]);

function whyNoMember(): string | undefined {
  const reads = spawnSync("setpriv", [...stranger, "test", "-r", `${root}/dist/agent-sandbox`]);
  return reads.status === 0 ? undefined : "other users cannot read the repository";
}

buildCommandLine();
const reason = whyNoBox() ?? whyNoMember();
if (reason !== undefined) console.warn(`skipped: ${reason}`);

describe.skipIf(reason !== undefined)("the members of the box's group", () => {
  let box: Box;
  beforeAll(async () => {
    box = await Box.make();
    writeFileSync(join(box.dataDir, "config.json"), JSON.stringify({ box: { group } }), { mode: 0o600 });
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const run = (who: readonly string[], ...words: string[]): Promise<Outcome> =>
    execute("setpriv", [...who, `${root}/dist/agent-sandbox`, "--data-dir", box.dataDir, ...words], "");
  const kubeconfig = (): string => readFileSync(join(box.dataDir, "group.kubeconfig"), "utf8");
  const tokenIn = (text: string): string => /"token": "([^"]+)"/.exec(text)?.[1] ?? "";
  const ask = async (
    path: string,
    options: { readonly method?: string; readonly body?: string } = {},
  ): Promise<number> => {
    const headers = { authorization: `Bearer ${tokenIn(kubeconfig())}`, "content-type": "application/json" };
    const config = ["--insecure", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
    const sent = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
    const body = options.body === undefined ? [] : ["--data", options.body];
    const args = [...config, ...sent, ...body, "--request", options.method ?? "GET", `https://${box.listen}${path}`];
    return Number((await execute("curl", args, "")).stdout);
  };

  test("use sandboxes in the namespace default, and others do not", async () => {
    expect(await run(member, "create", "shared", "--timeout", "60s")).toMatchObject({ code: 0 });
    expect(await run(member, "exec", "shared", "--", "echo", "hi")).toMatchObject({ code: 0, stdout: "hi\n" });
    expect(await run(member, "status")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 ready") });
    expect(await run(stranger, "get", "sandboxes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("permission denied"),
    });
  });

  test("read no other file of the data folder", () => {
    // A folder that cannot be entered hides everything below it.
    const can = (what: string, path: string): boolean =>
      spawnSync("setpriv", [...member, "test", what, join(box.dataDir, path)]).status === 0;
    const readable = readdirSync(box.dataDir).filter((path) => can("-r", path) || (can("-d", path) && can("-x", path)));
    expect(readable.toSorted()).toEqual(["box.json", "group.kubeconfig"]);
    expect(spawnSync("setpriv", [...member, "ls", box.dataDir]).status).not.toBe(0);
    expect(spawnSync("setpriv", [...member, "touch", join(box.dataDir, "new")]).status).not.toBe(0);
  });

  test("have no rights in other namespaces, and cannot get more", async () => {
    expect(await ask("/api/v1/namespaces/default/secrets")).toBe(200);
    expect(await ask("/api/v1/namespaces/agent-sandbox-system/secrets")).toBe(403);
    expect(await ask("/api/v1/namespaces/kube-system/pods")).toBe(403);
    expect(await ask("/apis/rbac.authorization.k8s.io/v1/clusterroles")).toBe(403);
    const token = "/api/v1/namespaces/agent-sandbox-system/serviceaccounts/agent-sandbox-controller/token";
    expect(await ask(token, { method: "POST", body: '{"spec":{}}' })).toBe(403);
    const annotation = { metadata: { annotations: { "agents.x-k8s.io/allowed-runtimes": "runc" } } };
    expect(await ask("/api/v1/namespaces/default", { method: "PATCH", body: JSON.stringify(annotation) })).toBe(403);
    expect(await ask("/agent-sandbox/backup")).toBe(403);
    expect(await ask("/agent-sandbox/metrics/manager")).toBe(403);
  });

  test("cannot stop the box, and learn who can", async () => {
    expect(await run(member, "down")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^error: Cannot stop the box: its process \d+ belongs to another user; run the command with sudo\n$/,
      ),
    });
    expect(await run(member, "status")).toMatchObject({ code: 0 });
  });

  test("lose their access when the setting is removed, also with a copy of the kubeconfig", async () => {
    const copy = join(box.dataDir, "..", `${box.dataDir.split("/").at(-1)}.copy`);
    writeFileSync(copy, kubeconfig(), { mode: 0o644 });
    try {
      await box.run("down");
      expect(readdirSync(box.dataDir)).not.toContain("group.kubeconfig");
      rmSync(join(box.dataDir, "config.json"));
      expect(await box.up()).toMatchObject({ code: 0 });
      expect(statSync(box.dataDir).mode & 0o777).toBe(0o700);
      expect(await run(member, "get", "sandboxes")).toMatchObject({ code: 1 });
      const { code, stderr } = await run(member, "--kubeconfig", copy, "get", "sandboxes");
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/Unauthorized|401/i) });
    } finally {
      rmSync(copy);
    }
  });

  test("are not those of a group that does not exist, or of root's", async () => {
    await box.run("down");
    expect(await box.up("--group", "no-such-group")).toMatchObject({
      code: 1,
      stderr:
        'error: Cannot give the group "no-such-group" access: it does not exist; create it with "groupadd no-such-group"\n',
    });
    expect(await box.up("--group", "root")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the group of root"),
    });
  });
});
