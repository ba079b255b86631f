import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../clients/run-command.ts";
import { available } from "../../clients/unavailable.ts";
import { whyNoBox } from "../../e2e/box.ts";
import { CompatBox } from "../compat-box.ts";
import { describeScript } from "./describe-script.ts";
import { type HostOptions, McpHost, mcpPackages, type Packages, program } from "./mcp-host.ts";
import { addTenants } from "./tenants.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("agent-sandbox mcp", () => {
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

  describeScript({ way: "stdio", generation: "sdk 1.32", source: { image: "host" }, world });
  describeScript({ way: "stdio", generation: "client 2.4", source: { template: "plain" }, world });
  describeScript({ way: "stdio", generation: "client 2.4, legacy", source: { image: "host" }, world });

  describe("the process", () => {
    const connect = (more: Partial<HostOptions> = {}): Promise<McpHost> =>
      McpHost.connect(load, box, { way: "stdio", generation: "client 2.4", ...more });
    const sandboxNames = (): string =>
      box.kubectl("get", "sandboxes,sandboxclaims", "-n", "team-a", "-o", "name").replaceAll(/.*\//g, "");

    test("serves a client that opens with initialize although it knows the newer protocol (91)", async () => {
      await using host = await connect({ generation: "client 2.4, legacy" });
      expect(host.client.getProtocolEra()).toBe("legacy");
      expect(await host.use("list_sandboxes")).toEqual({ sandboxes: [] });
    });
    test("without a name, calls use a sandbox that is made when it is first needed", async () => {
      await using host = await connect();
      expect((await host.use("run_command", { command: "echo 1 > /tmp/state; echo made" })).stdout).toBe("made\n");
      await using second = await connect({ generation: "sdk 1.32" });
      expect((await second.use("read_file", { path: "/tmp/state" })).content).toBe("1\n");
      await using other = await connect({ flags: ["--workspace", "other"] });
      expect(await other.failure("read_file", { path: "/tmp/state" })).toContain("no such file");
      const names = sandboxNames().trim().split("\n");
      expect(names).toEqual([expect.stringMatching(/^mcp-[0-9a-f]{20}$/), expect.stringMatching(/^mcp-/)]);
      for (const [one, name] of [
        [host, names[0]],
        [host, names[1]],
        [other, names[0]],
        [other, names[1]],
      ] as const) {
        await one.use("delete_sandbox", { sandbox: name });
      }
      await expect.poll(sandboxNames).toBe("");
      await using strict = await connect({ flags: ["--no-auto-sandbox"] });
      expect(await strict.failure("run_command", { command: "true" })).toContain("Name a sandbox");
    });
    test("deletes a sandbox whose creation is cancelled", async () => {
      await using host = await connect();
      const cancelling = new AbortController();
      const wanted = { name: "half", image: "sandbox.invalid/none", wait_seconds: 300 };
      const ended = host.call("create_sandbox", wanted, { signal: cancelling.signal });
      ended.catch(() => undefined);
      await expect.poll(sandboxNames).toContain("half\n");
      cancelling.abort();
      await expect(ended).rejects.toThrow(/abort/i);
      await expect.poll(sandboxNames).not.toContain("half\n");
    });
    test("ends with its input, and kills the commands of calls that are not answered (96)", async () => {
      await using host = await connect({ generation: "sdk 1.32" });
      const at = { sandbox: "left" };
      await host.use("create_sandbox", { name: "left" });
      const command = "sleep 4715 & exec sleep 4716";
      host.call("run_command", { ...at, command }).catch(() => undefined);
      await using watcher = await connect();
      const running = async (): Promise<string> =>
        (await watcher.use("run_command", { ...at, command: "pgrep -fx 'sleep 471[56]' || true" })).stdout;
      await expect.poll(running).toMatch(/\d+\n\d+\n/);
      const { pid } = host.transport;
      await host.client.close();
      await expect.poll(running).toBe("");
      expect(() => process.kill(pid, 0)).toThrow("ESRCH");
      await watcher.use("delete_sandbox", at);
    });
    test("prints nothing but messages, and no token", async () => {
      await using host = await connect({ generation: "sdk 1.32" });
      const problems: unknown[] = [];
      Object.assign(host.client, { onerror: (error: unknown) => problems.push(error) });
      await host.failure("run_command", { sandbox: "absent", command: "true" });
      await host.use("list_sandboxes");
      expect(problems).toEqual([]);
      expect(host.stderr).not.toContain(box.token().slice(0, 20));
    });
    test("ends with a reason if the token is not valid", async () => {
      const words = ["mcp", "--data-dir", box.box.dataDir];
      const { code, stdout, stderr } = await runCommand(program, words, { env: { AGENT_SANDBOX_TOKEN: "wrong" } });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("the credentials are not valid");
    });
    test("serves a user who may do nothing, and says so", async () => {
      await using host = await connect({ token: box.token("team-a", "guest") });
      expect(await host.failure("list_sandboxes")).toContain("lacks the permission");
    });
    test("is told about sandboxes that come and go", async () => {
      let changes = 0;
      const onChanged = (): void => void changes++;
      await using host = await connect({ clientOptions: { listChanged: { resources: { onChanged } } } });
      await host.use("create_sandbox", { name: "announced", wait_seconds: 0 });
      await expect.poll(() => changes).toBe(1);
      await host.use("delete_sandbox", { sandbox: "announced" });
      await expect.poll(() => changes).toBe(2);
    });
  });
});
