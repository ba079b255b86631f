import { readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const server = `
import http.server, os
class Counter(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Counter.count += 1
        body = f"{Counter.count} {os.getpid()}".encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("", 8000), Counter).serve_forever()
`;

const manifest = (name: string, policy: object, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: {
      suspendPolicy: policy,
      podTemplate: {
        spec: {
          // The program does not handle SIGTERM.
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "main",
              image: "host",
              command: ["python3", "-c", server],
              readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
            },
          ],
          ...spec,
        },
      },
    },
  });

describe.skipIf(reason !== undefined)("a sandbox that sleeps with its memory", { timeout: 180_000 }, () => {
  let box: Box;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  async function apply(content: string): Promise<void> {
    const file = join(box.dataDir, "objects.json");
    writeFileSync(file, content);
    expect(await box.run("apply", "-f", file)).toMatchObject({ code: 0 });
  }

  async function ready(name: string): Promise<void> {
    const { code, stdout, stderr } = await box.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=60s");
    if (code !== 0) throw new Error(`${stdout}${stderr}${await describeSandbox(name)}`);
  }

  const read = async (name: string): Promise<Sandbox> =>
    JSON.parse((await box.run("get", "sandbox", name, "-o", "json")).stdout) as Sandbox;

  const describeSandbox = async (name: string): Promise<string> => JSON.stringify((await read(name)).status);

  /** The answer of the program in a sandbox: how many requests it has answered. */
  async function count(name: string): Promise<number> {
    const { routerUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    const config = parse(readFileSync(box.kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    const headers = { host: `8000-${name}.default.localhost`, authorization: `Bearer ${config.users[0]?.user.token}` };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(routerUrl, { headers }).once("response", resolve).once("error", reject).end();
    });
    const body = await text(response);
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${body}`);
    return Number(body.split(" ")[0]);
  }

  async function setMode(name: string, operatingMode: "Running" | "Suspended"): Promise<void> {
    const { spec } = await read(name);
    const before = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name } };
    await apply(JSON.stringify({ ...before, spec: { ...spec, operatingMode } }));
  }

  const conditionOf = async (name: string, wanted: string) =>
    (await read(name)).status?.conditions?.find(({ type }) => type === wanted);

  async function suspend(name: string): Promise<void> {
    await setMode(name, "Suspended");
    await expect
      .poll(async () => (await conditionOf(name, "Suspended"))?.status, { timeout: 60_000, interval: 200 })
      .toBe("True");
  }

  test("a suspended program continues where it was", async () => {
    await apply(manifest("memory", { depth: "Memory", fallback: "Refuse" }));
    await ready("memory");
    expect([await count("memory"), await count("memory")]).toEqual([1, 2]);
    await suspend("memory");
    expect((await read("memory")).status).toMatchObject({ suspension: { depth: "Memory" } });
    expect((await box.run("get", "pods")).stdout).not.toContain("memory");
    await setMode("memory", "Running");
    await ready("memory");
    expect(await count("memory")).toBe(3);
    expect((await read("memory")).status).toMatchObject({ suspension: { epoch: 1, restored: "Memory" } });
  });

  test("a request to an idle sandbox wakes it, and its memory is there", async () => {
    const idle = JSON.parse(manifest("idle", { depth: "Memory", fallback: "Refuse" })) as { spec: object };
    await apply(JSON.stringify({ ...idle, spec: { ...idle.spec, idlePolicy: { suspendAfterSeconds: 10 } } }));
    await ready("idle");
    expect(await count("idle")).toBe(1);
    await expect
      .poll(async () => (await conditionOf("idle", "Suspended"))?.status, { timeout: 90_000, interval: 500 })
      .toBe("True");
    expect(await count("idle")).toBe(2);
  });

  test("a runtime that cannot save falls back to the files, and says so", async () => {
    await apply(manifest("files", { depth: "Memory", fallback: "Allow" }, { runtimeClassName: "runc" }));
    await ready("files");
    expect(await count("files")).toBe(1);
    await suspend("files");
    expect((await read("files")).status).toMatchObject({ suspension: { depth: "Filesystem" } });
    expect((await conditionOf("files", "Suspended"))?.message).toContain("cannot save");
    await setMode("files", "Running");
    await ready("files");
    expect(await count("files")).toBe(1);
  });

  test("a box that is killed after it has saved a sandbox restores it", async () => {
    await apply(manifest("killed", { depth: "Memory", fallback: "Refuse" }));
    await ready("killed");
    expect(await count("killed")).toBe(1);
    await suspend("killed");
    process.kill(box.pid(), "SIGKILL");
    expect((await box.up()).code).toBe(0);
    await setMode("killed", "Running");
    await ready("killed");
    expect(await count("killed")).toBe(2);
  });
});
