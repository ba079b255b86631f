import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file, writeTestArchive } from "../../packages/node/src/testing/test-image.ts";
import { freePort } from "../free-port.ts";
import { Box, buildCommandLine, execute, type Outcome, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const root = join(import.meta.dirname, "../..");
const containers = [{ name: "main", image: "host" }];

/** In the short forms of articles. */
const short = (kind: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: "agents.x-k8s.io/v1alpha1", kind, metadata: { name }, spec });

describe.skipIf(reason !== undefined)("commands for templates, pools, ports and tokens", { timeout: 120_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  }, 120_000);
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const names = async (type: string) => (await box.run("get", type, "-o", "name")).stdout;

  test("short forms of a template and a pool are converted, and fill the pool", async () => {
    const template = { template: { spec: { containers, runtimeClassName: "runc" } } };
    const files = [
      short("SandboxTemplate", "python", template),
      short("SandboxWarmPool", "warm", { size: 1, template: "python" }),
    ];
    const { code, stdout, stderr } = await box.runWith(files.join("\n---\n"), "apply", "-f", "-");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        "sandboxtemplate.extensions.agents.x-k8s.io/python created\nsandboxwarmpool.extensions.agents.x-k8s.io/warm created\n",
    });
    expect(stderr).toContain('Converted SandboxTemplate "python"');
    await box.run("wait", "sandboxwarmpool/warm", "--for", "condition=Ready", "--timeout", "60s");
    expect((await box.run("pool", "status")).stdout).toMatch(
      /^NAME +TEMPLATE +READY +WANTED .*\nwarm +python +1 +1 +0 /,
    );
    expect((await box.run("template", "ls")).stdout).toMatch(/\npython +host +runc +<default> +warm /);
  });

  test("claim takes a sandbox from the pool and prints its name; --rm runs a command and leaves nothing", async () => {
    const claimed = await box.run("claim", "warm", "--name", "mine");
    expect(claimed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warm-\w+\n$/) });
    expect((await box.run("exec", "mine", "--", "hostname")).stdout).toBe(claimed.stdout);
    expect(await box.run("claim", "warm", "--name", "mine")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("already exists"),
    });
    const words = ["claim", "python", "--rm", "-i", "--", "sh", "-c", "cat; exit 5"];
    expect(await box.runWith("typed", ...words)).toEqual({ code: 5, stdout: "typed", stderr: "" });
    expect(await names("sandboxclaims")).toBe("sandboxclaim.extensions.agents.x-k8s.io/mine\n");
    await box.run("delete", "sandboxclaim/mine");
  });

  test("a claim of a template without a pool starts a new sandbox, and the empty pool goes with the template", async () => {
    const template = short("SandboxTemplate", "alone", {
      template: { spec: { containers, runtimeClassName: "runc" } },
    });
    await box.runWith(template, "apply", "-f", "-");
    expect(await box.run("claim", "alone", "--rm", "--", "echo", "new")).toEqual({
      code: 0,
      stdout: "new\n",
      stderr: "",
    });
    expect(await names("sandboxwarmpools")).toContain("/shadow-pool-alone");
    await box.runWith(template, "delete", "-f", "-");
    await expect.poll(() => names("sandboxwarmpools"), { timeout: 20_000 }).not.toContain("alone");
  });

  test("pool scale changes the size", async () => {
    expect(await box.run("pool", "scale", "warm", "0")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("/warm scaled\n"),
    });
    await expect.poll(() => names("sandboxes"), { timeout: 20_000 }).toBe("");
  });

  test("image load - reads an archive from the standard input", async () => {
    const folder = mkdtempSync(join(box.dataDir, "archive-"));
    const archive = await writeTestArchive(folder, { layers: [[file("hello", "there")]] }, "thing:v1");
    const script = `exec dist/agent-sandbox --data-dir ${box.dataDir} image load - `;
    const load = (input: string): Promise<Outcome> => execute("sh", ["-c", `${script} < ${input}`], "");
    expect(await load(archive)).toMatchObject({ code: 0, stdout: expect.stringContaining("thing:v1 loaded") });
    expect(await load("/dev/null")).toMatchObject({ code: 1, stderr: expect.stringContaining("the standard input") });
    expect(readdirSync(join(box.dataDir, "node/images/staging"))).toEqual([]);
  });

  test("config shows the addresses of the running box, and config set changes the file", async () => {
    expect((await box.run("config")).stdout).toMatch(
      new RegExp(
        `\\nbox\\.listen +${box.listen} +option of up\\n(.*\\n)*node\\.allowedRuntimes +\\["runc"\\] +option of up\\n`,
      ),
    );
    const changed = await box.run("config", "set", "node.defaults.pids", "500");
    expect(changed).toMatchObject({ code: 0, stderr: expect.stringContaining("agent-sandbox down") });
    expect((await box.run("config")).stdout).toMatch(/\nnode\.defaults\.pids +500 +config\.json\n/);
    expect(await box.run("config", "unset", "node.defaults.pids")).toMatchObject({ code: 0 });
  });

  test("token prints the user's token, and one of a ServiceAccount", async () => {
    const { stdout } = await box.run("token");
    expect(stdout).toBe(readFileSync(join(box.dataDir, "admin.token"), "utf8").trim().concat("\n"));
    const created = await box.run("token", "create", "default/default", "--duration", "10m");
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ey[\w.-]+\n$/) });
  });

  const routerPort = (): number => {
    const { routerUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    return Number(new URL(routerUrl).port);
  };
  const navigation = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

  /** As a browser that opens a link: names below localhost are this machine. */
  const visit = (
    link: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; text: string; cookie: string }> =>
    new Promise((visited, reject) => {
      const { host, port, pathname, search } = new URL(link);
      const options = { port, path: pathname + search, headers: { host, ...navigation, ...headers } };
      get("http://127.0.0.1", options, (response) => {
        const [cookie = ""] = response.headers["set-cookie"] ?? [];
        const { statusCode: status = 0 } = response;
        visited(text(response).then((body) => ({ status, text: body, cookie: cookie.split(";")[0] ?? "" })));
      }).on("error", reject);
    });

  test("create -p declares a port, and open prints a link that works once and gives a session", async () => {
    const created = await box.run("create", "web", "--runtime", "runc", "-p", "8000");
    expect(created).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`http://127.0.0.1:${routerPort()}/sandboxes/default/web/8000/`),
    });
    const server =
      "mkdir -p /srv && echo served > /srv/index.html && nohup python3 -m http.server -d /srv 8000 >/dev/null 2>&1 &";
    await box.run("exec", "web", "--", "sh", "-c", server);
    const { code, stdout } = await box.run("open", "web", "--print");
    const link = stdout.trim();
    expect({ code, link }).toEqual({
      code: 0,
      link: expect.stringMatching(
        `^http://8000-web\\.default\\.localhost:${routerPort()}/\\.agent-sandbox/login\\?code=s1\\.`,
      ),
    });
    expect(link).not.toContain((await box.run("token")).stdout.trim());
    const { status, cookie } = await visit(link);
    expect(status).toBe(303);
    const page = new URL("/", link).href;
    await expect
      .poll(() => visit(page, { cookie }), { timeout: 20_000 })
      .toMatchObject({ status: 200, text: "served\n" });
    expect((await visit(link)).status).toBe(401);
    expect((await visit(page)).status).toBe(401);
    // The session is for this port only.
    expect((await visit(page.replace("8000-web", "9000-web"), { cookie })).status).toBe(401);
  });

  test("get -o wide shows runtime, depth and the reason why a sandbox is not ready", async () => {
    const broken = { containers: [{ name: "main", image: "none.invalid/none:1", imagePullPolicy: "Never" }] };
    const manifest = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "broken" } };
    await box.runWith(JSON.stringify({ ...manifest, spec: { podTemplate: { spec: broken } } }), "apply", "-f", "-");
    const wide = async (): Promise<string> => (await box.run("get", "sandboxes", "-o", "wide")).stdout;
    await expect.poll(wide, { timeout: 20_000 }).toMatch(/\nbroken .* <default> .*none\.invalid/);
    expect(await wide()).toMatch(
      /^NAME .* RUNTIME +DEPTH +WHY\n(.*\n)*web .* runc \(shared kernel\) +<default> +<none>\n/,
    );
    await box.run("delete", "sandbox/broken");
  });

  test("open starts the browser if there is a display", async () => {
    const folder = mkdtempSync(join(box.dataDir, "bin-"));
    writeFileSync(join(folder, "xdg-open"), '#!/bin/sh\necho "$1" > "$(dirname "$0")/opened"\n', { mode: 0o755 });
    const command = `DISPLAY=:0 PATH=${folder}:$PATH exec dist/agent-sandbox --data-dir ${box.dataDir} open web`;
    expect(await execute("sh", ["-c", command], "")).toEqual({
      code: 0,
      stdout: "",
      stderr: "Opened in the browser\n",
    });
    await expect.poll(() => readFileSync(join(folder, "opened"), "utf8")).toMatch(/^http:\/\/8000-web\./);
  });

  test("with a kubeconfig, open forwards a port to the router for the browser", async () => {
    const words = ["--kubeconfig", box.kubeconfig, "open", "web", "8000", "--print"];
    const child = spawn(join(root, "dist/agent-sandbox"), words, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const link = line.toString("utf8").trim();
    expect(new URL(link).port).not.toBe(String(routerPort()));
    const { status, cookie } = await visit(link);
    const page = await visit(new URL("/", link).href, { cookie });
    expect([status, page.text]).toEqual([303, "served\n"]);
    child.kill("SIGINT");
    await once(child, "exit");
  });

  test("run -p LOCAL:PORT forwards a local port while the command runs", async () => {
    const local = await freePort();
    const words = ["--data-dir", box.dataDir, "run", "--rm", "--runtime", "runc", "-p", `${local}:8001`, "--"];
    const child = spawn(
      join(root, "dist/agent-sandbox"),
      [...words, "python3", "-m", "http.server", "-d", "/etc", "8001"],
      { stdio: "ignore" },
    );
    const page = (): Promise<number> =>
      visit(`http://localhost:${local}/hostname`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(page, { timeout: 30_000 }).toBe(200);
    // Nothing was run, so nothing is left.
    const second = await box.run("run", "--name", "second", "--runtime", "runc", "-p", `${local}:8001`, "--", "true");
    expect(second).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("address already in use") });
    child.kill("SIGINT");
    await once(child, "exit");
    expect(await page()).toBe(0);
    expect(await names("sandboxes")).toBe("sandbox.agents.x-k8s.io/web\n");
    await box.run("delete", "sandbox/web");
  });

  test.each([
    { words: ["claim", "none"], says: 'no SandboxWarmPool and no SandboxTemplate "none"' },
    { words: ["claim", "warm", "--rm"], says: "--rm deletes the claim after a command" },
    { words: ["pool", "scale", "none", "1"], says: 'pool "none" not found' },
    { words: ["pool", "status", "none"], says: 'pool "none" not found' },
    { words: ["create", "x", "-p", "8080:80"], says: 'write -p PORT, and use "port-forward"' },
    { words: ["run", "-p", "http", "--", "true"], says: 'Cannot publish port "http"' },
    { words: ["open", "none"], says: 'sandbox "none" not found' },
    { words: ["open", "none", "0"], says: 'Cannot read port "0"' },
    { words: ["ps"], says: 'Did you mean "agent-sandbox get sandboxes"?' },
  ])("$words is refused, and nothing is left behind", async ({ words, says }) => {
    const { code, stdout, stderr } = await box.run(...words);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(says) });
    expect(await names("sandboxclaims")).toBe("");
  });
});
