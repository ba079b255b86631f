import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { ForwardCaller } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer, type Listening, writeKubeconfig } from "../index.ts";

const kubectlPath = "/usr/bin/kubectl";
const available = existsSync(kubectlPath);
if (!available) console.warn(`skipped: ${kubectlPath} is not installed`);

/** A router that tells each connection who its client is. */
const callers: ForwardCaller[] = [];
const routerForward = {
  connect: async (caller: ForwardCaller): Promise<Duplex> => {
    callers.push(caller);
    return Duplex.from(async function* (input: AsyncIterable<Buffer>) {
      for await (const chunk of input) yield `${caller.user()?.username ?? "nobody"}: ${chunk.toString()}`;
    });
  },
};

let folder: string;
let server: ApiServer;
let listening: Listening;
let token: string;
const account = "/api/v1/namespaces/default/serviceaccounts/caller";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-forward-"));
  server = await createApiServer({ nodeName: "box", routerForward });
  listening = await server.listen();
  const { transport } = server;
  await transport.send({
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts",
    body: { metadata: { name: "caller" } },
  });
  const { body } = await transport.send({ method: "POST", path: `${account}/token`, body: { spec: {} } });
  token = (body as { status: { token: string } }).status.token;
  const { url, authority } = listening;
  writeKubeconfig(join(folder, "kubeconfig"), { server: url, authority, credentials: { token } });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const forward = async (
  target: readonly string[],
  webSockets: string,
): Promise<{ child: ChildProcess; port: number }> => {
  const env = {
    ...process.env,
    KUBECONFIG: join(folder, "kubeconfig"),
    KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
  };
  const child = spawn(kubectlPath, ["port-forward", ...target], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { child, port: Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]) };
};

const say = async (port: number, what: string): Promise<string> => {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  socket.end(what);
  return text(socket);
};

describe.skipIf(!available).each([
  { wire: "WebSocket", webSockets: "true" },
  { wire: "SPDY", webSockets: "false" },
])("kubectl port-forward to the router over $wire", ({ webSockets }) => {
  test("hands over the identity of a user without any role, on many connections", async () => {
    const service = ["svc/sandbox-router-svc", ":8080", "-n", "agent-sandbox-system"];
    const { child, port } = await forward(service, webSockets);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => say(port, `${index}`)));
    expect(answers).toEqual(Array.from({ length: 10 }, (_, index) => `system:serviceaccount:default:caller: ${index}`));
    expect(callers.at(-1)?.user()).toMatchObject({
      username: "system:serviceaccount:default:caller",
      uid: expect.any(String),
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
    child.kill();
    await once(child, "exit");
  });

  test("reports that the router has no other port", async () => {
    const { child, port } = await forward(["pod/sandbox-router", ":22"], webSockets);
    const said = text(child.stderr as NodeJS.ReadableStream);
    await say(port, "hello");
    child.kill();
    expect(await said).toContain("the router has no port but 8080");
  });
});

/** The status of an upgrade request. */
async function upgrade(path: string, headers: Record<string, string>): Promise<number | undefined> {
  const spdy = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "portforward.k8s.io" };
  const sent = request(`${listening.url}${path}`, {
    method: "POST",
    ca: listening.authority,
    headers: { ...spdy, ...headers },
  }).end();
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  const upgraded = once(sent, "upgrade") as Promise<[IncomingMessage, Duplex]>;
  const [response, socket] = (await Promise.race([answered, upgraded])) as [IncomingMessage, Duplex?];
  socket?.destroy();
  response.destroy();
  return response.statusCode;
}

describe("an upgrade request to the Pod of the router", () => {
  const pod = "/api/v1/namespaces/default/pods/sandbox-router";
  const own = (): Record<string, string> => ({ authorization: `Bearer ${token}` });
  const admin = (): Record<string, string> => ({ authorization: `Bearer ${listening.token}` });

  test("is accepted for port-forward only", async () => {
    expect(await upgrade(`${pod}/portforward`, own())).toBe(101);
    for (const part of ["exec?command=sh", "attach", "proxy", "proxy/"]) {
      expect([part, await upgrade(`${pod}/${part}`, admin())]).toEqual([part, 403]);
    }
    const service = "/api/v1/namespaces/default/services/sandbox-router-svc:8080/proxy/";
    expect(await upgrade(service, admin())).toBe(403);
  });

  test("is refused without a valid credential, and for an impersonated anonymous user", async () => {
    expect(await upgrade(`${pod}/portforward`, {})).toBe(401);
    expect(await upgrade(`${pod}/portforward`, { authorization: "Bearer forged" })).toBe(401);
    expect(await upgrade(`${pod}/portforward`, { ...own(), "impersonate-user": "admin" })).toBe(403);
    expect(await upgrade(`${pod}/portforward`, { ...admin(), "impersonate-user": "system:anonymous" })).toBe(403);
  });
});

test.skipIf(!available)("a port-forward loses its identity with the account of its client", async () => {
  const { child, port } = await forward(["svc/sandbox-router-svc", ":8080"], "true");
  expect(await say(port, "before")).toContain("caller: before");
  await server.transport.send({ method: "DELETE", path: account });
  expect(await say(port, "after")).toBe("nobody: after");
  child.kill();
});
