import { connect, type SandboxClient } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const template = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxTemplate",
  metadata: { name: "shell" },
  spec: {
    runtime: "Injected",
    envVarsInjectionPolicy: "Allowed",
    podTemplate: { spec: { containers: [{ name: "main", image: "host" }] } },
  },
};
const pool = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name: "shells" },
  spec: { replicas: 1, sandboxTemplateRef: { name: "shell" } },
};

describe.skipIf(reason !== undefined)("the life of a sandbox", { timeout: 180_000 }, () => {
  let box: Box;
  let client: SandboxClient;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const up = await box.up();
    if (up.code !== 0) throw new Error(up.stderr);
    const applied = await box.runWith(`${JSON.stringify(template)}\n---\n${JSON.stringify(pool)}`, "apply", "-f", "-");
    if (applied.code !== 0) throw new Error(applied.stderr);
    client = await connect({ dataDir: box.dataDir });
  });
  afterAll(async () => {
    client?.close();
    await box?.[Symbol.asyncDispose]();
  });

  test("a sandbox of a pool is claimed, used and deleted", async () => {
    const sandbox = await client.create({ pool: "shells", name: "claimed" });
    expect(sandbox).toMatchObject({ claimName: "claimed" });
    expect(await sandbox.commands.run("echo hello")).toMatchObject({ stdout: "hello\n" });
    const again = await client.get("claimed");
    expect(again.name).toBe(sandbox.name);
    await sandbox.delete();
    await sandbox.delete();
    await expect(sandbox.commands.run("true", { timeoutMs: 20_000 })).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("a sandbox of a template uses a pool of the template", async () => {
    await using sandbox = await client.create({ template: "shell", env: { GREETING: "hi" } });
    expect(await sandbox.commands.run("echo $GREETING")).toMatchObject({ stdout: "hi\n" });
  });

  test("a template that does not exist is reported at once", async () => {
    await expect(client.create({ template: "nothing" })).rejects.toMatchObject({
      reason: "Failed",
      serverReason: "TemplateNotFound",
    });
  });

  test("a create that is repeated with the same id returns the same sandbox, and another one is refused", async () => {
    const options = { image: "host", name: "once", requestId: "id-1" };
    await using sandbox = await client.create(options);
    const again = await client.create(options);
    expect(again.uid).toBe(sandbox.uid);
    await expect(client.create({ ...options, requestId: "id-2" })).rejects.toMatchObject({ reason: "AlreadyExists" });
    expect((await client.get("once")).uid).toBe(sandbox.uid);
  });

  test("a suspended sandbox keeps its memory, and its snapshot can be forked", async () => {
    await using sandbox = await client.create({
      image: "host",
      name: "sleeper",
      suspendDepth: "Memory",
      runtimeClass: "gvisor",
    });
    await sandbox.runCode("x = 41");
    expect(await sandbox.suspend()).toMatchObject({ depth: "Memory" });
    expect(await sandbox.status()).toMatchObject({ phase: "Suspended" });
    await expect(sandbox.commands.run("true")).rejects.toMatchObject({ reason: "Suspended", status: 409 });
    expect(await sandbox.resume()).toMatchObject({ restored: "Memory", epoch: 1 });
    expect(await sandbox.runCode("x + 1")).toMatchObject({ text: "42" });

    await sandbox.files.write("state.txt", "of the source");
    const { name, depth } = await sandbox.snapshot();
    expect(depth).toBe("Memory");
    await sandbox.files.write("state.txt", "changed");
    await using fork = await client.create({ snapshot: name, name: "fork" });
    expect(await fork.files.readText("state.txt")).toBe("of the source");
    expect(await sandbox.files.readText("state.txt")).toBe("changed");
    await client.deleteSnapshot(name);
    await client.deleteSnapshot(name);
  });

  test("a lifetime can be extended", async () => {
    await using sandbox = await client.create({ image: "host", lifetimeSeconds: 600 });
    const before = (await sandbox.status()).expiresAt?.getTime() ?? 0;
    const expiresAt = await sandbox.extend(1200);
    expect(expiresAt.getTime()).toBeGreaterThan(before);
    expect((await sandbox.status()).expiresAt).toEqual(expiresAt);
  });

  test("a command ends when its call is cancelled", async () => {
    await using sandbox = await client.create({ image: "host" });
    const controller = new AbortController();
    const why = new Error("no longer needed");
    const command = sandbox.commands.run("sleep 1000", {
      timeoutMs: 60_000,
      signal: controller.signal,
      onStdout: () => undefined,
    });
    await expect.poll(async () => (await sandbox.commands.list()).length).toBe(1);
    controller.abort(why);
    await expect(command).rejects.toBe(why);
    await expect
      .poll(async () => (await sandbox.commands.list()).filter(({ exit }) => exit === undefined), { timeout: 30_000 })
      .toEqual([]);
  });

  test("changes of files are watched", async () => {
    await using sandbox = await client.create({ image: "host" });
    await sandbox.files.makeDir("watched");
    const seen: string[] = [];
    const changes = sandbox.files.watch("watched", { onReady: () => void sandbox.files.write("watched/new.txt", "x") });
    for await (const { type, path } of changes) {
      seen.push(`${type} ${path}`);
      if (path.endsWith("new.txt")) break;
    }
    expect(seen.join("\n")).toContain("watched/new.txt");
  });

  test("a large file and a directory go there and back", async () => {
    await using sandbox = await client.create({ image: "host" });
    const size = 8 * 1024 * 1024;
    const block = new Uint8Array(64 * 1024).map((_, index) => index % 251);
    await sandbox.files.write(
      "deep/large",
      (async function* () {
        for (let sent = 0; sent < size; sent += block.length) yield block;
      })(),
    );
    expect(await sandbox.files.stat("deep/large")).toMatchObject({ size });
    const archive: Uint8Array[] = [];
    for await (const piece of sandbox.files.readArchive("deep")) archive.push(piece);
    await sandbox.files.writeArchive("copy", Buffer.concat(archive));
    const sums = await sandbox.commands.run("cat deep/large | sha256sum; cat copy/large | sha256sum");
    const [one, two] = sums.stdout.trim().split("\n");
    expect(one).toBe(two);
    expect((await sandbox.files.read("copy/large", { range: { first: size - 3 } })).length).toBe(3);
  });

  test("a browser link opens a port", async () => {
    await using sandbox = await client.create({ image: "host", command: ["python3", "-m", "http.server", "8000"] });
    await sandbox.ports.wait(8000, { http: "/" });
    const link = await sandbox.ports.loginUrl(8000);
    expect(link).toContain(new URL(sandbox.ports.url(8000)).host);
    expect((await sandbox.ports.list()).map(({ port }) => port)).toContain(8000);
    expect((await sandbox.usage()).memoryBytes).toBeGreaterThan(0);
  });
});
