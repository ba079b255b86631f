import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { podTemplate, sandbox } from "./manifests.ts";
import { Namespace } from "./namespace.ts";
import { routerUrl } from "./product.ts";

const cluster = inject("cluster");

describe.skipIf(cluster.missing !== undefined).concurrent("the router of a real cluster", { timeout: 300_000 }, () => {
  let namespace: Namespace;
  let router: string;
  let token: string;
  beforeAll(async () => {
    namespace = await Namespace.create(cluster, "router");
    router = await routerUrl(cluster);
    await namespace.kubectl("create", "serviceaccount", "caller");
    const connect = ["--verb=connect", "--resource=sandboxes.agents.x-k8s.io"];
    await namespace.kubectl("create", "role", "caller", ...connect);
    const binding = ["--role=caller", `--serviceaccount=${namespace.name}:caller`];
    await namespace.kubectl("create", "rolebinding", "caller", ...binding);
    token = (await namespace.kubectl("create", "token", "caller")).trim();
  });
  afterAll(() => namespace?.[Symbol.asyncDispose]());

  const fetched = (name: string, port: number, path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${router}/sandboxes/${namespace.name}/${name}/${port}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: AbortSignal.timeout(60_000),
    });
  const page = podTemplate("mkdir -p /tmp/www; hostname > /tmp/www/index.html; httpd -f -p 8000 -h /tmp/www");

  test("reaches a program in a Sandbox, for those who may connect", async () => {
    await namespace.apply(sandbox("web", { podTemplate: page }));
    await namespace.wait("sandbox/web", "condition=Ready");
    const response = await fetched("web", 8000, "/");
    expect([response.status, await response.text()]).toEqual([200, "web\n"]);
    const anonymous = await fetch(`${router}/sandboxes/${namespace.name}/web/8000/`);
    expect(anonymous.status).toBe(401);
    await anonymous.body?.cancel();
  });

  test("a request wakes a suspended Sandbox that allows it (SLEEP-21)", async () => {
    await namespace.apply(
      sandbox("sleeper", {
        podTemplate: page,
        operatingMode: "Suspended",
        resumePolicy: "OnTraffic",
        idlePolicy: { suspendAfterSeconds: 3600 },
      }),
    );
    await namespace.wait("sandbox/sleeper", "condition=Suspended");
    const response = await fetched("sleeper", 8000, "/");
    expect([response.status, await response.text()]).toEqual([200, "sleeper\n"]);
    await namespace.wait("sandbox/sleeper", "condition=Ready");
  });

  test("the injected runtime serves files and commands through it (RUNTIME-1, RUNTIME-3)", async () => {
    await namespace.apply(sandbox("runtime", { runtime: "Injected" }));
    await namespace.wait("sandbox/runtime", "condition=Ready");
    const health = await fetched("runtime", 8080, "/v1/health");
    expect([health.status, await health.json()]).toEqual([200, expect.objectContaining({ status: "ok" })]);
    const ran = await fetch(`${router}/sandboxes/${namespace.name}/runtime/9090/process.v1.ProcessService/Execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ config: { shell: "echo $((6 * 7)); exit 3" } }),
    });
    const { exitCode, stdout } = (await ran.json()) as { exitCode: number; stdout: string };
    expect([exitCode, Buffer.from(stdout, "base64").toString()]).toEqual([3, "42\n"]);
  });
});
