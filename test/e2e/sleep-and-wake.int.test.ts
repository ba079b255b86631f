import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const pool = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: { name: plain }
spec:
  podTemplate:
    spec:
      containers: [{ name: main, image: host, command: [sleep, infinity] }]
---
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: { name: warm }
spec: { replicas: 1, sandboxTemplateRef: { name: plain } }
`;

const claim = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: { name: mine }
spec: { warmPoolRef: { name: warm } }
`;

const web = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: web }
spec:
  runtime: Injected
  idlePolicy: { suspendAfterSeconds: 10 }
  volumeClaimTemplates:
  - metadata: { name: data }
    spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
  podTemplate:
    spec:
      containers:
      - name: main
        image: host
        command: [sh, -c, "date +%s.%N > /tmp/started; test -e /data/page || cp /tmp/started /data/page; cd /data; exec python3 -m http.server 8000"]
        volumeMounts: [{ name: data, mountPath: /data }]
        readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 }
`;

const shell = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: { name: shell }
spec:
  idlePolicy: { suspendAfterSeconds: 10 }
  podTemplate:
    spec:
      containers: [{ name: main, image: host, command: [sh, -c, "echo started; exec sleep infinity"] }]
`;

describe.skipIf(reason !== undefined)("warm pools, idle suspension and waking", { timeout: 180_000 }, () => {
  let box: Box;
  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  async function apply(yaml: string): Promise<void> {
    const file = join(box.dataDir, "objects.yaml");
    writeFileSync(file, yaml);
    expect(await box.run("apply", "-f", file)).toMatchObject({ code: 0 });
  }

  const ready = (what: string): Promise<unknown> =>
    box.run("wait", what, "--for=condition=Ready", "--timeout=60s").then((outcome) => expect(outcome.code).toBe(0));

  /** Sends a request through the router to a port of a sandbox. */
  async function ask(path: string, options: { host?: string; headers?: object; method?: string; body?: string } = {}) {
    const { routerUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    const { host = "8000-web.default.localhost", headers = {}, method = "GET", body } = options;
    const sent = request(routerUrl, { path, method, headers: { host, ...headers } }).end(body);
    const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve);
      sent.once("error", reject);
    });
    return { status: response.statusCode, body: await text(response) };
  }

  function authorization(): { authorization: string } {
    const config = parse(readFileSync(box.kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    return { authorization: `Bearer ${config.users[0]?.user.token}` };
  }

  const suspended = async (name = "web"): Promise<string> => {
    const { stdout } = await box.run("get", "sandbox", name, "-o", "json");
    const { status } = JSON.parse(stdout) as { status: { conditions: { type: string; reason: string }[] } };
    return status.conditions.find(({ type }) => type === "Suspended")?.reason ?? "";
  };

  test("a claim gets a warm sandbox", async () => {
    await apply(pool);
    await expect
      .poll(async () => (await box.run("get", "sandboxwarmpools")).stdout, { timeout: 60_000 })
      .toMatch(/warm\s+1\s+1/);
    const member = (await box.run("get", "sandboxes")).stdout.match(/^warm-\S+/m)?.[0];
    await apply(claim);
    await ready("sandboxclaim/mine");
    const { stdout } = await box.run("get", "sandboxclaim", "mine", "-o", "json");
    const { status } = JSON.parse(stdout) as { status: { sandbox: { name: string } } };
    expect(status.sandbox.name).toBe(member);
  });

  test("the router authorizes requests, and the injected sandboxd runs commands", async () => {
    await apply(web);
    await ready("sandbox/web");
    await expect
      .poll(async () => (await ask("/page", { headers: authorization() })).status, { timeout: 30_000 })
      .toBe(200);
    expect((await ask("/page")).status).toBe(401);
    const headers = {
      ...authorization(),
      "x-sandbox-id": "web",
      "x-sandbox-port": "8888",
      "content-type": "application/json",
    };
    const body = JSON.stringify({ command: "echo from inside" });
    const ran = await ask("/execute", { host: "router", method: "POST", headers, body });
    expect(JSON.parse(ran.body)).toMatchObject({ stdout: "from inside\n", exit_code: 0 });
  });

  test("an idle sandbox is suspended, and a request wakes it with its files", async () => {
    const before = await ask("/page", { headers: authorization() });
    await expect.poll(() => suspended(), { timeout: 90_000, interval: 1000 }).toBe("Idle");
    expect((await box.run("logs", "web")).stderr).toContain('sandbox "web" is suspended');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask("/page", { headers: authorization() })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set([`200 ${before.body}`]));
    expect(before.status).toBe(200);
  });

  test("a command keeps its sandbox awake beyond the idle window, and the next one wakes it", async () => {
    await apply(shell);
    await ready("sandbox/shell");
    // More than twice the idle window of 10 s.
    const long = await box.run("exec", "shell", "--", "sh", "-c", "echo here > /root/note; sleep 22; echo survived");
    expect(long).toMatchObject({ code: 0, stdout: "survived\n" });
    await expect.poll(() => suspended("shell"), { timeout: 60_000, interval: 500 }).toBe("Idle");
    expect(await box.run("exec", "shell", "--", "cat", "/root/note")).toMatchObject({ code: 0, stdout: "here\n" });
    expect(await suspended("shell")).toBe("NotSuspended");
  });
});
