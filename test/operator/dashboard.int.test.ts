import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Address, type Answer, ask, jsonOf } from "../data-plane/ask.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { runCli } from "./run-cli.ts";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");
const name = "dashboard.agent-sandbox-system.localhost";

/** `agent-sandbox dashboard` for a cluster: it serves the page from this machine, with the token of a kubeconfig. */
describe("the dashboard of a cluster, served by the command line", { timeout: 60_000 }, () => {
  const owned = new AsyncDisposableStack();
  let kubernetes: Kubernetes;
  let router: Server;
  const atRouter: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];

  beforeAll(async () => {
    kubernetes = owned.use(await startKubernetes({ users: [{ name: "alice" }] }));
    for (const namespace of ["team", "proxy"]) {
      await kubectl("create", "namespace", namespace);
      await kubectl("create", "configmap", "proxy", "-n", namespace);
      await kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps", "-n", namespace);
      await kubectl("create", "rolebinding", "alice", "--role=reader", "--user=alice", "-n", namespace);
    }
    router = createServer(({ url, headers: { authorization } }, response) => {
      atRouter.push({ url, authorization });
      response.end("from the router");
    });
    router.listen(0, "127.0.0.1");
    await once(router, "listening");
    owned.defer(() => void router.close());
  }, 300_000);
  afterAll(() => owned.disposeAsync());

  async function kubectl(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await kubernetes.kubectl(words);
    if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** A kubeconfig with this user's credentials, and the cluster's settings changed. */
  function kubeconfig(file: string, user: object, changed: object = {}): string {
    const config = JSON.parse(readFileSync(kubernetes.admin.kubeconfig, "utf8")) as {
      clusters: [{ name: string; cluster: object }];
      users: [{ name: string; user: object }];
    };
    const [{ cluster }] = config.clusters;
    config.clusters = [{ name: "test", cluster: { ...cluster, ...changed } }];
    config.users = [{ name: "admin", user }];
    const path = join(kubernetes.folder, file);
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  const words = (path: string): string[] => {
    const { port } = router.address() as AddressInfo;
    return [
      "dashboard",
      "--kubeconfig",
      path,
      "--namespace",
      "team",
      "--router",
      `http://127.0.0.1:${port}`,
      "--print",
    ];
  };

  interface Served extends AsyncDisposable {
    readonly link: URL;
    readonly address: Address;
    readonly child: ChildProcess;
  }

  /** Resolves when the link was printed. */
  async function serve(path: string): Promise<Served> {
    const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", main, ...words(path)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    const failure = text(child.stderr);
    const line = once(createInterface({ input: child.stdout }), "line") as Promise<[string]>;
    const ended = once(child, "exit").then(async () => Promise.reject(new Error(await failure)));
    ended.catch(() => undefined);
    const link = new URL((await Promise.race([line, ended]))[0]);
    return {
      link,
      child,
      address: { host: "127.0.0.1", port: Number(link.port) },
      [Symbol.asyncDispose]: async () => {
        child.kill("SIGKILL");
        await ended.catch(() => undefined);
      },
    };
  }

  interface Session {
    readonly user: string;
    readonly namespace: string;
    readonly cookie: string;
    readonly get: (target: string) => Promise<Answer>;
    readonly requestToken: string;
  }

  async function logIn({ link, address }: Served): Promise<Session> {
    const own = { host: `${name}:${address.port}` };
    const login = await ask(address, `${link.pathname}${link.search}`, { headers: own });
    expect(login.status).toBe(303);
    const cookie = login.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    const session = jsonOf<Omit<Session, "cookie" | "get">>(
      await ask(address, "/session", { headers: { ...own, cookie } }),
    );
    const headers = { ...own, cookie, authorization: `Bearer ${session.requestToken}` };
    return { ...session, cookie, get: (target) => ask(address, target, { headers }) };
  }

  test("reads and watches a real API server with the rights of the user of the token, and reaches the router", async () => {
    const { token } = kubernetes.user("alice");
    await using served = await serve(kubeconfig("alice-token", { token }));
    expect(served.link.hostname).toBe(name);
    expect(served.link.href).not.toContain(token);
    const { user, namespace, cookie, requestToken, get } = await logIn(served);
    expect([user, namespace]).toEqual(["alice", "team"]);

    const list = await get("/kube/api/v1/namespaces/team/configmaps");
    const names = jsonOf<{ items: { metadata: { name: string } }[] }>(list).items.map(({ metadata }) => metadata.name);
    expect([list.status, names]).toEqual([200, ["proxy"]]);
    for (const place of ["namespaces/proxy/configmaps", "namespaces/proxy/configmaps/proxy"]) {
      expect((await get(`/kube/api/v1/${place}`)).status).toBe(200);
    }
    const secrets = await get("/kube/api/v1/namespaces/team/secrets");
    expect([secrets.status, secrets.text]).toEqual([403, expect.stringContaining('User \\"alice\\" cannot list')]);

    const { host } = served.link;
    const headers = { host, cookie, origin: `http://${host}` };
    const stream = new WebSocket(`ws://127.0.0.1:${served.address.port}/streams`, { headers });
    const events: string[] = [];
    stream.on("message", (data: Buffer) => events.push(data.toString()));
    await once(stream, "open");
    stream.send(JSON.stringify({ token: requestToken }));
    stream.send(JSON.stringify({ open: 1, path: "/api/v1/namespaces/team/configmaps?watch=1" }));
    await kubectl("create", "configmap", "made-later", "-n", "team");
    await expect.poll(() => events.join(""), { timeout: 30_000 }).toContain("made-later");
    stream.terminate();

    expect((await get("/runtime/v1/files/a")).text).toBe("from the router");
    expect(atRouter.at(-1)).toEqual({ url: "/v1/files/a", authorization: `Bearer ${token}` });
  });

  test.for(["SIGINT", "SIGTERM"] as const)("ends with %s, and nothing listens any more", async (signal) => {
    await using served = await serve(kubeconfig("alice-token", { token: kubernetes.user("alice").token }));
    const ended = once(served.child, "exit");
    served.child.kill(signal);
    expect(await ended).toEqual([0, null]);
    await expect(ask(served.address, "/healthz", { headers: { host: name } })).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
  });

  test("needs a token, which a user with a client certificate can create", async () => {
    const { kubeconfig: withCertificate } = kubernetes.admin;
    const refused = await runCli(words(withCertificate));
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(/client certificate.*agent-sandbox token create NAMESPACE\/NAME/);

    await kubectl("create", "serviceaccount", "dashboard", "-n", "team");
    await kubectl("create", "rolebinding", "robot", "--role=reader", "--serviceaccount=team:dashboard", "-n", "team");
    const made = await runCli(["token", "create", "team/dashboard", "--kubeconfig", withCertificate]);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    await using served = await serve(kubeconfig("robot-token", { token: made.stdout.trim() }));
    const { user, get } = await logIn(served);
    expect(user).toBe("system:serviceaccount:team:dashboard");
    expect((await get("/kube/api/v1/namespaces/team/configmaps")).status).toBe(200);
    expect((await get("/kube/api/v1/namespaces/proxy/configmaps")).status).toBe(403);
  });

  test("refuses a server that it cannot verify, and a token that is not valid", async () => {
    const { token } = kubernetes.user("alice");
    const changed = { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true };
    const insecure = await runCli(words(kubeconfig("insecure", { token }, changed)));
    expect(insecure).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("verifies the API server") });
    const unknown = await runCli(words(kubeconfig("unknown", { token: "unknown" })));
    expect(unknown).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("refused a login link") });
    expect(unknown.stderr.trim().split("\n").length).toBe(1);
  });
});
