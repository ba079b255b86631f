import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file } from "../../packages/node/src/testing/test-image.ts";
import { startRegistry } from "../../packages/node/src/testing/test-registry.ts";
import { freePort } from "../free-port.ts";
import { Box, buildCommandLine, execute, whyNoBox } from "./box.ts";
import { loseAllButTheDisk } from "./like-a-reboot.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);
const root = `${import.meta.dirname}/../..`;
const polling = { timeout: 20_000, interval: 500 };

describe.skipIf(reason !== undefined)("a box that cannot start", () => {
  let folder: string;
  beforeAll(() => {
    buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), "agent-sandbox-operations-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const up = (dataDir: string, ...more: string[]): ReturnType<typeof execute> =>
    execute(`${root}/dist/agent-sandbox`, ["--data-dir", dataDir, "up", ...more], "");
  const anyPorts = ["--listen", "127.0.0.1:0", "--router-listen", "127.0.0.1:0"];

  test("because a port is in use names the program and the flag, and creates nothing", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const dataDir = join(folder, "ports");
    const [api, router] = [`127.0.0.1:${port}`, `127.0.0.1:${port}`];
    const first = await up(dataDir, "--listen", api, "--router-listen", "127.0.0.1:0");
    const second = await up(dataDir, "--foreground", "--listen", "127.0.0.1:0", "--router-listen", router);
    server.close();
    const by = `address already in use by process ${process.pid} \\(node[^)]*\\); end that program, or choose another port with`;
    expect(first.stderr).toMatch(new RegExp(`^error: .*:${port}": ${by} --listen ADDRESS:PORT\n$`));
    expect(second.stderr).toMatch(new RegExp(`^error: .*:${port}": ${by} --router-listen ADDRESS:PORT\n$`));
    expect([first.code, second.code, existsSync(dataDir)]).toEqual([1, 1, false]);
  });

  test("because the disk is full says so", async () => {
    const dataDir = join(folder, "full");
    mkdirSync(dataDir);
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=100k,mode=700", "none", dataDir]).status).toBe(0);
    try {
      const { code, stderr } = await up(dataDir, ...anyPorts);
      expect(stderr).toMatch(/^error: .*full.*; free some space on the disk of ".*", or choose another --data-dir\n$/);
      expect(code).toBe(1);
    } finally {
      spawnSync("umount", ["--lazy", dataDir]);
    }
  });

  test("because config.json has an invalid address names the field", async () => {
    const dataDir = join(folder, "settings");
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, "config.json"), '{ "box": { "listen": "7643" } }');
    expect(await up(dataDir)).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('box.listen: Cannot listen on "7643": write address:port'),
    });
    expect(readdirSync(dataDir)).toEqual(["config.json"]);
  });

  test("because its program was copied without the rest says what is missing, in one line", async () => {
    const copy = join(folder, "copy");
    mkdirSync(copy);
    cpSync(`${root}/dist/agent-sandbox`, join(copy, "agent-sandbox"));
    const run = (path: string): ReturnType<typeof execute> =>
      execute("env", [`PATH=${path}`, join(copy, "agent-sandbox"), "--data-dir", join(folder, "none"), "up"], "");
    expect(await run("/usr/bin:/bin")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: .*lib\/main\.mjs.*\n$/),
    });
    cpSync(`${root}/dist/lib`, join(copy, "lib"), { recursive: true });
    const programs = join(folder, "programs");
    mkdirSync(programs);
    for (const name of ["sh", "dirname", "readlink", "env"]) symlinkSync(`/usr/bin/${name}`, join(programs, name));
    expect(await run(programs)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*no Node 24.*\n$/) });
    symlinkSync(process.execPath, join(programs, "node"));
    expect(await run(programs)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: .*package "koffi".*\n$/),
    });
  });
});

describe.skipIf(reason !== undefined)("a box in operation", () => {
  let box: Box;
  let api: number;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    api = await freePort();
    const settings = { box: { listen: `127.0.0.1:${api}`, routerListen: "127.0.0.1:0" } };
    writeFileSync(join(box.dataDir, "config.json"), JSON.stringify(settings));
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  test("listens where config.json says, and a flag wins", async () => {
    expect(await box.run("up")).toMatchObject({ code: 0, stdout: expect.stringContaining(`https://127.0.0.1:${api}`) });
    const again = await box.run("up", "--listen", box.listen);
    expect(again.stderr).toContain("Warning: the box was started with other options");
    await box.run("down");
    const started = await box.run("up", "--listen", box.listen);
    expect(started).toMatchObject({ code: 0, stdout: expect.stringContaining(`https://${box.listen}`) });
  });

  test("a damaged store is replaced by a backup, as the message says", async () => {
    const file = join(box.dataDir, "monday.backup");
    expect(await box.run("backup", file)).toMatchObject({ code: 0 });
    await box.run("down");
    for (const name of readdirSync(box.dataDir).filter((one) => one.startsWith("store.db-")))
      rmSync(join(box.dataDir, name));
    writeFileSync(join(box.dataDir, "store.db"), "not a database. ".repeat(100));
    const { code, stderr } = await box.run("up");
    expect(stderr).toMatch(
      /^error: Cannot start the box: .*; restore a backup with "agent-sandbox --data-dir \S+ restore FILE"/,
    );
    expect(code).toBe(1);
    expect(await box.run("restore", file)).toMatchObject({ code: 0 });
    expect(await box.run("up")).toMatchObject({ code: 0 });
  });

  test("a registry without TLS is refused with the setting that allows it, which needs no restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-registry-"));
    await using registry = await startRegistry(folder);
    await registry.push({ layers: [[file("hello", "hi")]] }, "app:v1");
    const name = `${registry.address}/app:v1`;
    const pulled = await box.run("image", "pull", name);
    const setting = `{"name": "${registry.address}", "insecure": true}`;
    expect(pulled).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`does not use TLS: if you trust the network, add ${setting}`),
    });
    const told = (pod: string): Promise<string> =>
      box.run("get", `pod/${pod}`, "-o", "json").then(({ stdout }) => stdout);
    const pod = (own: string): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: own },
        spec: { containers: [{ name: "main", image: name }] },
      });
    await box.runWith(pod("before"), "apply", "-f", "-");
    await expect.poll(() => told("before"), polling).toContain("in config.json (no restart is needed)");
    const settings = { node: { images: { registries: [JSON.parse(setting)] } } };
    writeFileSync(join(box.dataDir, "config.json"), JSON.stringify(settings));
    await box.runWith(pod("after"), "apply", "-f", "-");
    // The image has a file and no program.
    await expect.poll(() => told("after"), polling).toMatch(/"imageID": "[^"]+"/);
    await registry[Symbol.asyncDispose]();
    expect((await box.run("image", "pull", name)).stderr).toContain("nothing listens at the registry");
    expect((await box.run("image", "pull", "nohost.invalid/app:v1")).stderr).toMatch(
      /the host of the registry "nohost.invalid" is unknown|no route/,
    );
    rmSync(folder, { recursive: true, force: true });
  });

  test("the roles of a cluster do not change the box's own roles, and it keeps working", async () => {
    const own = "clusterrole/system:agent-sandbox-controller";
    const before = await box.run("get", own, "-o", "json");
    const page = readFileSync(`${root}/docs/install-cluster.md`, "utf8");
    expect(page).toContain("kubectl apply -f deploy/manifest.yaml");
    // A box runs no Deployments and has the CRDs: only the accounts and roles can be applied.
    const isRole = /^kind: (?:Namespace|ServiceAccount|(?:Cluster)?Role(?:Binding)?)$/m;
    const manifests = readFileSync(`${root}/deploy/manager.yaml`, "utf8").split("---\n");
    const roles = manifests.filter((manifest) => isRole.test(manifest)).join("---\n");
    expect(await box.runWith(roles, "apply", "-f", "-")).toMatchObject({ code: 0, stderr: "" });
    expect(await box.run("get", own, "-o", "json")).toEqual(before);
    expect(await box.run("run", "--rm", "--timeout", "60s", "--", "echo", "hi")).toMatchObject({
      code: 0,
      stdout: "hi\n",
    });
  });

  test("the systemd unit is valid, and its command runs the box", async () => {
    await box.run("down");
    const { stdout: unit } = await box.run("service", "print");
    const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-unit-"));
    const path = join(folder, "agent-sandbox.service");
    writeFileSync(path, unit);
    const verified = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
    const isMissing = verified.error !== undefined;
    if (isMissing) console.warn("not verified: this machine has no systemd-analyze");
    expect(isMissing || [verified.status, verified.stderr]).toEqual(isMissing || [0, ""]);
    rmSync(folder, { recursive: true });
    const [command = "", ...words] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? "").split(" ");
    const service = spawn(command, words, { stdio: "ignore" });
    const ended = once(service, "exit");
    await expect.poll(() => box.run("status").then(({ code }) => code), polling).toBe(0);
    expect(await box.run("up", "--foreground")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is already running"),
    });
    expect(await box.run("down")).toMatchObject({ code: 0 });
    // systemd restarts a service that fails, and not one that was stopped.
    expect(await ended).toEqual([0, null]);
    expect(await box.run("up")).toMatchObject({ code: 0 });
  });

  test("after a reboot, sandboxes run again with their files and addresses, and suspended ones stay so", async () => {
    const addressOf = async (name: string): Promise<string> =>
      (await box.run("exec", name, "--", "hostname", "-I")).stdout.trim();
    await Promise.all(["awake", "asleep"].map((name) => box.run("create", name, "--timeout", "60s")));
    expect(await box.run("exec", "awake", "--", "sh", "-c", "echo kept > /root/note")).toMatchObject({ code: 0 });
    expect(await box.run("suspend", "asleep")).toMatchObject({ code: 0 });
    const address = await addressOf("awake");
    await box.run("down");
    await loseAllButTheDisk(box.dataDir);
    expect(await box.run("up")).toMatchObject({ code: 0 });
    await expect
      .poll(() => box.run("exec", "awake", "--", "cat", "/root/note"), { timeout: 60_000, interval: 1000 })
      .toMatchObject({ code: 0, stdout: "kept\n" });
    expect(await addressOf("awake")).toBe(address);
    expect((await box.run("get", "sandbox/asleep", "-o", "json")).stdout).toContain('"operatingMode": "Suspended"');
    expect(await box.run("delete", "sandboxes", "--all")).toMatchObject({ code: 0 });
  });

  test("down --purge lists what it deletes and asks on a terminal; anything but yes changes nothing", async () => {
    const command = `${root}/dist/agent-sandbox --data-dir ${box.dataDir} down --purge`;
    const answer = (text: string): ReturnType<typeof execute> =>
      execute("script", ["--quiet", "--return", "--command", command, "/dev/null"], text);
    const refused = await answer("n\n");
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(
      /deletes \S+:[^]*Pods with their files +\d[^]*Delete all of it\? \[y\/N\][^]*nothing was deleted/,
    );
    expect(await box.run("status")).toMatchObject({ code: 0 });
    expect((await answer("y\n")).stdout).toContain("Removed every sandbox");
    expect(existsSync(box.dataDir)).toBe(false);
  });
});
