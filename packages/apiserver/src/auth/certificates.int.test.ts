import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type ApiServer, createApiServer, type KeyAndCertificate, type Listening } from "../index.ts";
import { issueCertificate } from "../tls/certificate.ts";
import { issueClientCertificate, readAuthority } from "../tls/client-identity.ts";
import { serverIdentity } from "../tls/server-identity.ts";

const day = 24 * 3600 * 1000;
const whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const pods = "/api/v1/namespaces/default/pods";

let dataDir: string;
let auditPath: string;
let server: ApiServer;
let listening: Listening;
let authority: KeyAndCertificate;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "apiserver-certificates-"));
  auditPath = join(dataDir, "audit.log");
  server = await createApiServer({ dataDir, audit: { path: auditPath } });
  listening = await server.listen();
  authority = readAuthority(dataDir);
});
afterAll(async () => {
  await server.close();
  rmSync(dataDir, { recursive: true });
});

interface Sent {
  readonly method?: string;
  readonly certificate?: KeyAndCertificate | undefined;
  readonly headers?: Record<string, string | string[]>;
  readonly agent?: Agent;
}

// oxlint-disable-next-line typescript/no-explicit-any
async function send(path: string, { method = "GET", certificate, headers = {}, agent }: Sent = {}): Promise<any> {
  const identity = certificate === undefined ? {} : { key: certificate.key, cert: certificate.certificate };
  const host = { host: "127.0.0.1", port: listening.port, ca: listening.authority };
  const sent = request({ ...host, ...identity, path, method, headers, agent: agent ?? false });
  // With a Buffer as body, Node also writes the headers as bytes.
  sent.end(method === "POST" ? Buffer.from("{}") : undefined);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  const body: unknown = text.startsWith("{") ? JSON.parse(text) : text;
  return { status: response.statusCode, body };
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe("a client certificate", () => {
  test("gives the user and the groups", async () => {
    const certificate = listening.issueClientCertificate({ user: "jane", groups: ["staff", "größe"], days: 1 });
    const { status, body } = await send(whoami, { method: "POST", certificate });
    expect(status).toBe(201);
    expect(body.status.userInfo).toEqual({
      username: "jane",
      groups: ["staff", "größe", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
    expect((await send(pods, { certificate })).body.message).toContain('User "jane" cannot list resource "pods"');
  });

  test("is valid on reused connections and resumed TLS sessions", async () => {
    const certificate = issueClientCertificate(authority, { user: "root", groups: ["system:masters"] }, Date.now());
    const identity = { key: certificate.key, cert: certificate.certificate };
    for (const keepAlive of [true, false]) {
      const agent = new Agent({ keepAlive, maxSockets: 1, ca: listening.authority, ...identity });
      for (let round = 0; round < 3; round += 1) expect((await send(pods, { agent })).status).toBe(200);
      agent.destroy();
    }
  });

  const now = Date.now();
  const foreign = serverIdentity({ folder: undefined, names: ["x"], nowMs: now });
  const self = issueCertificate({
    commonName: "root",
    organizations: ["system:masters"],
    notBeforeMs: now - day,
    notAfterMs: now + day,
  });
  test.for([
    [
      "that is expired",
      () => issueClientCertificate(authority, { user: "root", groups: ["system:masters"], days: 1 }, now - 2 * day),
    ],
    [
      "that is not valid yet",
      () => issueClientCertificate(authority, { user: "root", groups: ["system:masters"] }, now + 2 * day),
    ],
    [
      "from another authority",
      () => issueClientCertificate(foreign.authority, { user: "root", groups: ["system:masters"] }, now),
    ],
    ["that is self-signed", () => self],
    ["of the server itself", () => readPair("server")],
  ] as const)("%s is refused, also for /version", async ([, make]) => {
    const certificate = make();
    expect(await send(pods, { certificate })).toMatchObject({ status: 401, body: { reason: "Unauthorized" } });
    expect((await send("/version", { certificate })).status).toBe(401);
    expect((await send(pods, { certificate, headers: bearer(listening.token) })).status).toBe(200);
  });

  test("takes precedence over a token", async () => {
    const certificate = listening.issueClientCertificate({ user: "jane" });
    const { body } = await send(whoami, { method: "POST", certificate, headers: bearer(listening.token) });
    expect(body.status.userInfo.username).toBe("jane");
  });

  test.for([
    [{ user: "" }, "printable"],
    [{ user: "a\nb" }, "printable"],
    [{ user: "x".repeat(257) }, "printable"],
    [{ user: "x", groups: [""] }, "group"],
    [{ user: "x", groups: Array.from({ length: 65 }, (_, at) => `g${at}`) }, "64"],
    [{ user: "x", days: 0 }, "days"],
    [{ user: "x", days: Number.NaN }, "days"],
    [{ user: "x", days: 4000 }, "days"],
  ] as const)("is not issued for %j", ([asked, message]) => {
    expect(() => listening.issueClientCertificate(asked)).toThrow(message);
  });
});

function readPair(name: string): KeyAndCertificate {
  const read = (kind: string): string => readFileSync(join(dataDir, `${name}.${kind}`), "utf8");
  return { key: read("key"), certificate: read("crt") };
}

describe("a request without credentials", () => {
  test.for([
    ["/healthz", 200],
    ["/livez", 200],
    ["/readyz", 200],
    ["/version", 200],
    ["/healthz?verbose", 200],
    ["/healthz/../api/v1/pods", 401],
    ["/api", 401],
    ["/apis", 401],
    ["/openapi/v2", 401],
    ["/.well-known/openid-configuration", 401],
    [pods, 401],
    ["/nowhere", 401],
  ] as const)("gets from %s %i", async ([path, status]) => {
    expect((await send(path)).status).toBe(status);
  });

  test("may read more paths if the server is configured so and roles allow it", async () => {
    const anonymousPaths = ["/version", "/api", "/openid/v1/jwks"];
    await using open = await createApiServer({ access: { anonymousPaths } });
    const { port, authority: ca } = await open.listen();
    const get = async (path: string): Promise<number | undefined> => {
      const [response] = (await once(
        request({ host: "127.0.0.1", port, ca, path, agent: false }).end(),
        "response",
      )) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect([await get("/version"), await get("/healthz"), await get("/api")]).toEqual([200, 401, 403]);
  });
});

describe("bearer tokens", () => {
  test.for([
    "x",
    "a.b.c",
    "y".repeat(40_000),
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZGVmYXVsdC5zdmMuY2x1c3Rlci5sb2NhbCJ9.",
  ])("%.30s is refused", async (token) => {
    expect((await send(pods, { headers: bearer(token) })).status).toBe(401);
    expect((await send("/version", { headers: bearer(token) })).status).toBe(401);
  });

  test("of service accounts give the permissions of the account", async () => {
    const { transport } = server;
    const path = "/api/v1/namespaces/default/serviceaccounts";
    await transport.send({ method: "POST", path, body: { metadata: { name: "robot" } } });
    const { body } = await transport.send({ method: "POST", path: `${path}/robot/token`, body: { spec: {} } });
    const { token } = (body as { status: { token: string } }).status;
    const answer = await send(pods, { headers: bearer(token) });
    expect(answer.body.message).toContain('User "system:serviceaccount:default:robot" cannot list resource "pods"');
    expect((await send("/openid/v1/jwks", { headers: bearer(token) })).status).toBe(200);
    await transport.send({ method: "DELETE", path: `${path}/robot` });
    expect((await send(pods, { headers: bearer(token) })).status).toBe(401);
  });
});

test("impersonation uses every Impersonate-Group header", async () => {
  // Go clients send UTF-8. Node writes header characters as single bytes, so encode beforehand.
  const user = Buffer.from("Zoë").toString("latin1");
  const headers = { ...bearer(listening.token), "Impersonate-User": user, "Impersonate-Group": ["a, b", "c"] };
  const { body } = await send(whoami, { method: "POST", headers });
  expect(body.status.userInfo).toEqual({ username: "Zoë", groups: ["a, b", "c", "system:authenticated"] });
});

describe("exec", () => {
  const refusal = async (user: string): Promise<string> => {
    const { key, certificate: cert } = listening.issueClientCertificate({ user });
    const url = `wss://127.0.0.1:${listening.port}${pods}/p/exec?command=ls&stdout=true`;
    const socket = new WebSocket(url, ["v5.channel.k8s.io"], { ca: listening.authority, key, cert });
    socket.on("error", () => undefined);
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    let text = "";
    for await (const chunk of response) text += String(chunk);
    return (JSON.parse(text) as { message: string }).message;
  };

  test("needs permission for both get and create", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const allow = async (user: string, ...verbs: string[]): Promise<void> => {
      const { transport } = server;
      const rules = [{ verbs, apiGroups: [""], resources: ["pods/exec"] }];
      await transport.send({ method: "POST", path: `${rbac}/roles`, body: { metadata: { name: user }, rules } });
      const apiGroup = "rbac.authorization.k8s.io";
      const roleRef = { apiGroup, kind: "Role", name: user };
      const body = { metadata: { name: user }, roleRef, subjects: [{ kind: "User", apiGroup, name: user }] };
      await transport.send({ method: "POST", path: `${rbac}/rolebindings`, body });
    };
    await allow("getter", "get");
    await allow("creator", "create");
    await allow("both", "get", "create");
    expect(await refusal("none")).toContain('User "none" cannot get resource "pods/exec"');
    expect(await refusal("getter")).toContain('User "getter" cannot create resource "pods/exec"');
    expect(await refusal("creator")).toContain('User "creator" cannot get resource "pods/exec"');
    expect(await refusal("both")).toBe('pods "p" not found');
  });
});

test("the audit log contains these requests but no token", async () => {
  await send(pods, { headers: bearer("nobodys-token") });
  await server.close();
  const text = readFileSync(auditPath, "utf8");
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.at(-1)).toMatchObject({
    requestURI: pods,
    user: {},
    sourceIPs: ["127.0.0.1"],
    responseStatus: { code: 401 },
  });
  const upgrade = events.findLast(({ requestURI }) => requestURI.includes("/exec"));
  expect(upgrade).toMatchObject({ user: { username: "both" }, verb: "get", responseStatus: { code: 101 } });
  expect(text).not.toContain(listening.token);
  expect(text).not.toContain("nobodys-token");
  expect(text).not.toContain("eyJ");
});
