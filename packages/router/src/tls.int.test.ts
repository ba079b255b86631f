import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const folder = mkdtempSync(join(tmpdir(), "router-tls-"));
const file = (name: string): string => join(folder, name);
const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });

function issue(name: string, { subject = `/CN=${name}`, altNames = "DNS:localhost" } = {}): void {
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    `${name}.key`,
    "-subj",
    subject,
    "-out",
    `${name}.csr`,
  );
  writeFileSync(file(`${name}.ext`), `subjectAltName=${altNames}\n`);
  openssl(
    "x509",
    "-req",
    "-in",
    `${name}.csr`,
    "-CA",
    "ca.crt",
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    `${name}.ext`,
    "-out",
    `${name}.crt`,
  );
}

function selfSigned(name: string, subject = `/CN=${name}`): void {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", `${name}.key`];
  openssl("req", "-x509", ...key, "-subj", subject, "-days", "2", "-out", `${name}.crt`);
}

const cluster = new TestCluster();
let router: Router;
let pod: Served;

beforeAll(async () => {
  selfSigned("ca");
  for (const name of ["first", "second"]) issue(name);
  issue("alice", { subject: "/O=team/CN=alice", altNames: "URI:spiffe://example/alice" });
  // Like a mounted Secret: the files are links through another link, which is replaced.
  for (const name of ["first", "second"]) {
    execFileSync("mkdir", [file(`data-${name}`)]);
    renameSync(file(`${name}.crt`), file(`data-${name}/tls.crt`));
    renameSync(file(`${name}.key`), file(`data-${name}/tls.key`));
  }
  symlinkSync("data-first", file("..data"));
  for (const name of ["tls.crt", "tls.key"]) symlinkSync(`..data/${name}`, file(name));
  pod = await cluster.serve((asked, response) => response.end(JSON.stringify(asked.headers)));
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  cluster.users.set("-", { username: "spiffe://example/alice", mayConnect: ["default/box"] });
  const tls = {
    certFile: file("tls.crt"),
    keyFile: file("tls.key"),
    clientCaFile: file("ca.crt"),
    mtls: "optional",
  } as const;
  router = await cluster.router({ secure: { port: 0, ...tls }, auth: {} });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const pair = (name: string) => ({ cert: readFileSync(file(`${name}.crt`)), key: readFileSync(file(`${name}.key`)) });

function ask(client: object = {}): Promise<{ status: number; text: string; issuedTo: string }> {
  const { host, port } = router.secureAddress ?? {};
  return new Promise((resolve, reject) => {
    const asked = request({
      host,
      port,
      servername: "localhost",
      ca: readFileSync(file("ca.crt")),
      agent: false,
      ...toSandbox("box", pod.port),
      ...client,
    });
    asked.on("error", reject);
    asked.on("response", (answer) => {
      const { subject } = (answer.socket as ReturnType<typeof connect>).getPeerCertificate();
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          issuedTo: String(subject.CN),
        }),
      );
    });
    asked.end();
  });
}

describe("over TLS", () => {
  test("a client certificate authenticates the caller", async () => {
    const { status, text } = await ask(pair("alice"));
    expect([status, (JSON.parse(text) as Record<string, string>)["x-forwarded-proto"]]).toEqual([200, "https"]);
    expect(JSON.stringify(cluster.reviews.at(-1)?.body)).toContain('"user":"spiffe://example/alice"');
  });

  test("a client certificate is not accepted for requests of another site's page", async () => {
    const { headers } = toSandbox("box", pod.port);
    const page = (more: Record<string, string>) => ask({ ...pair("alice"), headers: { ...headers, ...more } });
    expect((await page({ origin: "https://evil.example", "sec-fetch-site": "cross-site" })).status).toBe(401);
    expect((await page({ "sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors" })).status).toBe(401);
    expect((await page({})).status).toBe(200);
  });

  test("a client without a certificate needs another credential, and one with an invalid certificate is disconnected", async () => {
    expect((await ask()).status).toBe(401);
    selfSigned("fake", "/O=team/CN=alice");
    await expect(ask(pair("fake"))).rejects.toThrow(/hang up|ECONNRESET|certificate|closed/i);
  });

  test("HTTP/2 is negotiated with ALPN", async () => {
    const { host, port } = router.secureAddress ?? {};
    const session = connectHttp2(`https://${host}:${port}`, {
      ca: readFileSync(file("ca.crt")),
      servername: "localhost",
      ...pair("alice"),
    });
    const stream = session.request({ ":path": "/", ...toSandbox("box", pod.port).headers });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    session.destroy();
    expect(headers[":status"]).toBe(200);
  });

  test("a certificate authenticates a WebSocket over HTTP/2 too", async () => {
    const { host, port } = router.secureAddress ?? {};
    const options = { ca: readFileSync(file("ca.crt")), servername: "localhost" };
    const statusWith = async (client: object): Promise<unknown> => {
      const session = connectHttp2(`https://${host}:${port}`, { ...options, ...client });
      await once(session, "remoteSettings");
      const opening = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/", "sec-websocket-version": "13" };
      const stream = session.request({ ...opening, ...toSandbox("box", sockets.port).headers }, { endStream: false });
      const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
      session.destroy();
      return headers[":status"];
    };
    const sockets = await cluster.serve(() => undefined, { ip: pod.ip });
    new WebSocketServer({ server: sockets.server }).on("connection", (socket) => socket.resume());
    expect([await statusWith(pair("alice")), await statusWith({})]).toEqual([200, 401]);
  });

  test("TLS versions before 1.2 are refused", async () => {
    const { host, port } = router.secureAddress ?? {};
    const socket = connect({
      host,
      port,
      servername: "localhost",
      rejectUnauthorized: false,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "ALL:@SECLEVEL=0",
    } as ConnectionOptions);
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toMatch(/protocol|alert|version/i);
  });
});

describe("with required client certificates", () => {
  test("refuses clients without a certificate and those of a removed CA", async () => {
    const files = { certFile: file("tls.crt"), keyFile: file("tls.key"), clientCaFile: file("callers.crt") };
    writeFileSync(files.clientCaFile, readFileSync(file("ca.crt")));
    const strict = await cluster.router({ secure: { port: 0, ...files, mtls: "required" }, auth: {} });
    const askStrict = (client: object = {}) => ask({ ...strict.secureAddress, ...client });
    expect((await askStrict(pair("alice"))).status).toBe(200);
    await expect(askStrict()).rejects.toThrow(/hang up|ECONNRESET|certificate|alert/i);
    selfSigned("other-ca");
    writeFileSync(files.clientCaFile, readFileSync(file("other-ca.crt")));
    const outcome = () =>
      askStrict(pair("alice")).then(
        () => "in",
        () => "out",
      );
    await expect.poll(outcome, { timeout: 5000 }).toBe("out");
  });
});

test("loads a new certificate when the symbolic link changes, and ignores an invalid one", async () => {
  expect((await ask(pair("alice"))).issuedTo).toBe("first");
  symlinkSync("data-second", file("..new"));
  renameSync(file("..new"), file("..data"));
  await expect.poll(async () => (await ask(pair("alice"))).issuedTo, { timeout: 5000 }).toBe("second");
  writeFileSync(file("data-second/tls.crt"), "no certificate");
  writeFileSync(file("touched"), "");
  await expect.poll(() => router.metrics(), { timeout: 5000 }).toMatch(/cert_reloads_total\{outcome="failure"\} [1-9]/);
  expect((await ask(pair("alice"))).issuedTo).toBe("second");
});
