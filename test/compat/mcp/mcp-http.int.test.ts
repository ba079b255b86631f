import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../../clients/unavailable.ts";
import { whyNoBox } from "../../e2e/box.ts";
import { CompatBox } from "../compat-box.ts";
import { describeScript } from "./describe-script.ts";
import { type HostOptions, McpHost, mcpPackages, type Packages } from "./mcp-host.ts";
import { addTenants } from "./tenants.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("/mcp of the box", () => {
  let box: CompatBox;
  let load: Packages;
  let why: string | undefined;
  beforeAll(async () => {
    const skip = ((message: string) => {
      why = message;
      throw new Error(message);
    }) as never;
    load = await available(mcpPackages(), { skip });
    box = await CompatBox.start();
    await addTenants(box);
  }, 300_000);
  afterAll(async () => {
    if (why !== undefined) console.warn(`skipped: ${why}`);
    await box?.[Symbol.asyncDispose]();
  }, 120_000);
  const world = (): { box: CompatBox; load: Packages } => ({ box, load });
  const connect = (more: Partial<HostOptions> = {}): Promise<McpHost> =>
    McpHost.connect(load, box, { way: "http", generation: "client 2.4", ...more });
  const sandboxNames = (namespace = "team-a"): string[] =>
    box
      .kubectl("get", "sandboxes,sandboxclaims", "-n", namespace, "-o", "name")
      .split("\n")
      .map((line) => line.replace(/.*\//, ""))
      .filter(Boolean);

  describeScript({ way: "http", generation: "sdk 1.32", source: { template: "plain" }, world });
  describeScript({ way: "http", generation: "client 2.4", source: { image: "host" }, world });
  describeScript({ way: "http", generation: "client 2.4, legacy", source: { template: "plain" }, world });

  test("serves both generations on one address at the same time (91)", async () => {
    await using old = await connect({ generation: "sdk 1.32" });
    await using opensOld = await connect({ generation: "client 2.4, legacy" });
    await using modern = await connect();
    expect([opensOld.client.getProtocolEra(), modern.client.getProtocolEra()]).toEqual(["legacy", "modern"]);
    const all = await Promise.all([old, opensOld, modern].map((host) => host.use("list_sandboxes")));
    expect(all).toEqual([{ sandboxes: [] }, { sandboxes: [] }, { sandboxes: [] }]);
  });
  test("calls without a name use a sandbox if the address asks for it, one for each workspace", async () => {
    await using strict = await connect();
    expect(await strict.failure("run_command", { command: "true" })).toContain("Name a sandbox");
    await using host = await connect({ query: "?auto_sandbox=true" });
    expect((await host.use("run_command", { command: "echo 1 > /tmp/state; echo made" })).stdout).toBe("made\n");
    await using second = await connect({ generation: "sdk 1.32", query: "?auto_sandbox=true" });
    expect((await second.use("read_file", { path: "/tmp/state" })).content).toBe("1\n");
    await using other = await connect({ query: "?auto_sandbox=true&workspace=other" });
    expect(await other.failure("read_file", { path: "/tmp/state" })).toContain("no such file");
    for (const one of [host, other]) {
      const { sandboxes } = await one.use("list_sandboxes");
      expect(sandboxes).toHaveLength(1);
      await one.use("delete_sandbox", { sandbox: sandboxes[0].sandbox });
    }
    await expect.poll(() => sandboxNames()).toEqual([]);
  });
  test("deletes a sandbox whose creation is cancelled", async () => {
    for (const generation of ["sdk 1.32", "client 2.4"] as const) {
      await using host = await connect({ generation });
      const cancelling = new AbortController();
      const wanted = { name: "half", image: "sandbox.invalid/none", wait_seconds: 300 };
      const ended = host.call("create_sandbox", wanted, { signal: cancelling.signal });
      ended.catch(() => undefined);
      await expect.poll(() => sandboxNames()).toContain("half");
      cancelling.abort();
      await expect(ended).rejects.toThrow(/abort/i);
      await expect.poll(() => sandboxNames()).not.toContain("half");
    }
  });
  test("a client is told about the user's sandboxes that appear and disappear, whoever does it", async () => {
    let [changes, foreign] = [0, 0];
    const listening = (onChanged: () => void): object => ({ listChanged: { resources: { onChanged } } });
    await using _host = await connect({ clientOptions: listening(() => void changes++) });
    const token = box.token("team-a", "colleague");
    await using colleague = await connect({ token, clientOptions: listening(() => void foreign++) });
    await using maker = await connect({ generation: "sdk 1.32" });
    await maker.use("create_sandbox", { name: "announced", wait_seconds: 0 });
    await expect.poll(() => changes).toBe(1);
    box.kubectl("delete", "sandbox", "announced", "-n", "team-a", "--wait=false");
    await expect.poll(() => changes).toBe(2);
    // A message of its own is the end of what could have been sent before.
    await colleague.use("create_sandbox", { name: "of-colleague", wait_seconds: 0 });
    await expect.poll(() => foreign).toBe(1);
    await colleague.use("delete_sandbox", { sandbox: "of-colleague" });
    await expect.poll(() => [changes, foreign]).toEqual([2, 2]);
  });
  test("a user without rights gets tool errors, one of another namespace finds nothing (95)", async () => {
    await using guest = await connect({ token: box.token("team-a", "guest") });
    expect(await guest.failure("list_sandboxes")).toContain("lacks the permission");
    expect(await guest.failure("create_sandbox", { name: "not-mine" })).toContain("lacks the permission");
    await using other = await connect({ token: box.token("team-b") });
    expect(await other.use("list_sandboxes")).toEqual({ sandboxes: [] });
    expect(await other.failure("list_sandboxes", { namespace: "team-a" })).toContain("lacks the permission");
    await using visitor = await connect({ token: box.token("team-b"), query: "?namespace=team-a" });
    expect(await visitor.failure("create_sandbox")).toContain("lacks the permission");
    expect(sandboxNames()).toEqual([]);
  });
  test("without a token, the client learns where the metadata is (95)", async () => {
    const answer = await fetch(`${box.url}/mcp`, { method: "POST", body: "{}" });
    const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(answer.headers.get("www-authenticate") ?? "") ?? [];
    expect(answer.status).toBe(401);
    expect(await (await fetch(metadata)).json()).toMatchObject({ resource: `${box.url}/mcp` });
    await expect(connect({ token: "forged" })).rejects.toThrow(/401|unauthorized/i);
  });
  test("the box restarts between two calls: the next one uses the same sandbox (97)", async () => {
    const at = { sandbox: "lasting" };
    {
      await using host = await connect();
      await host.use("create_sandbox", { name: "lasting", on_timeout: "pause" });
      await host.use("write_file", { ...at, path: "/tmp/kept", content: "kept" });
    }
    const listen = ["--compat-listen", new URL(box.url).host];
    await using before = await connect({ generation: "sdk 1.32" });
    const token = box.token();
    expect((await box.box.run("down")).code).toBe(0);
    const { code, stdout } = await box.box.up(...listen);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${box.url}/mcp `)]);
    expect((await before.use("read_file", { ...at, path: "/tmp/kept" })).content).toBe("kept");
    await using after = await connect({ token });
    expect((await after.use("read_file", { ...at, path: "/tmp/kept" })).content).toBe("kept");
    await after.use("delete_sandbox", at);
  });
});
