import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Authority, type Pair } from "./certificates.test.support.ts";
import { type ClusterAccess, fixedCredential } from "./cluster-access.ts";
import { HostileApi, httpClients, json } from "./hostile-api.test.support.ts";
import { HttpTransport } from "./http-transport.ts";

let ours: Authority;
let theirs: Authority;
const servers: Record<string, Pair> = {};
beforeAll(() => {
  ours = new Authority();
  theirs = new Authority();
  servers["good"] = ours.issue("server", { altNames: "IP:127.0.0.1,DNS:kube.test" });
  servers["named"] = ours.issue("named", { altNames: "DNS:kube.test,DNS:other.test" });
  servers["expired"] = ours.issue("expired", { altNames: "IP:127.0.0.1", expired: true });
});
afterAll(() => {
  ours[Symbol.dispose]();
  theirs[Symbol.dispose]();
});

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

async function serve(server: string, requestCert = false): Promise<HostileApi> {
  const api = await HostileApi.start(
    (request, response) => json(response, { user: (request.socket as TLSSocket).getPeerCertificate().subject?.CN }),
    { ...servers[server], ...(requestCert ? { ca: ours.cert, requestCert, rejectUnauthorized: true } : {}) },
  );
  opened.push(() => api[Symbol.asyncDispose]());
  return api;
}

async function ask(api: HostileApi, over: Partial<ClusterAccess>, client = {}): Promise<object> {
  const transport = new HttpTransport(api.access(over), client);
  opened.push(() => transport.close());
  const answer = await transport.send({ method: "GET", path: "/" }).catch((error: object) => error);
  return "body" in answer ? (answer.body as object) : answer;
}

describe.each(httpClients)("TLS with %o", (client) => {
  test("trusts a server with a certificate of the CA", async () => {
    expect(await ask(await serve("good"), { tls: { ca: ours.cert } }, client)).toEqual({});
  });

  test.for<[string, string, () => ClusterAccess["tls"], RegExp]>([
    [
      "an expired certificate",
      "expired",
      () => ({ ca: ours.cert }),
      /its certificate has expired: renew it, and check this machine's clock/,
    ],
    [
      "another CA",
      "good",
      () => ({ ca: theirs.cert }),
      /signed by an authority that is not trusted: give the cluster's CA/,
    ],
    ["no CA of the cluster", "good", () => ({}), /signed by an authority that is not trusted/],
    [
      "another name",
      "named",
      () => ({ ca: ours.cert }),
      /its certificate is for DNS:kube.test, DNS:other.test, not for "127.0.0.1": use one of these names, or give it as tls-server-name/,
    ],
  ])("rejects %s before anything is sent", async ([, server, tls, message]) => {
    const api = await serve(server);
    const error = await ask(api, { tls: tls() }, client);
    expect(error).toMatchObject({ reason: "Unreachable", message: expect.stringMatching(message) });
    expect((error as Error).message).toMatch(/^Cannot reach "https:\/\/127.0.0.1:\d+": /);
    expect(api.requests).toEqual([]);
  });

  test("checks the certificate for the configured server name", async () => {
    expect(await ask(await serve("named"), { tls: { ca: ours.cert, serverName: "kube.test" } }, client)).toEqual({});
  });

  test("accepts any certificate if configured as insecure", async () => {
    expect(await ask(await serve("expired"), { tls: { insecure: true } }, client)).toEqual({});
  });

  test("reports an http port that is used with https", async () => {
    const api = await HostileApi.start((_, response) => json(response, {}));
    opened.push(() => api[Symbol.asyncDispose]());
    const error = await ask(api, { server: api.url.replace("http:", "https:") }, client);
    expect(error).toMatchObject({ message: expect.stringContaining("does not speak TLS") });
  });
});

describe.each(httpClients)("client certificates with %o", (client) => {
  const signed = (): Pair => ours.issue("alice");

  test("identify the client", async () => {
    const credentials = fixedCredential({ certificate: signed() });
    expect(await ask(await serve("good", true), { tls: { ca: ours.cert }, credentials }, client)).toEqual({
      user: "alice",
    });
  });

  test.for<[string, () => Pair | undefined]>([
    ["missing", () => undefined],
    ["signed by another CA", () => theirs.issue("mallory")],
    ["expired", () => ours.issue("bob", { expired: true })],
  ])("%s: a server that closes the connection is reported", async ([, issue]) => {
    const api = await serve("good", true);
    const certificate = issue();
    const credentials = fixedCredential(certificate ? { certificate } : {});
    const error = await ask(api, { tls: { ca: ours.cert }, credentials }, client);
    // Some clients read the alert that precedes the end of the connection.
    expect((error as Error).message).toMatch(
      /^Cannot finish GET "\/": the connection broke|rejected our client certificate/,
    );
    expect(api.requests).toEqual([]);
  });

  test("that the server rejects with an alert give Unreachable", async () => {
    const { cert = "", key = "" } = servers["good"] ?? {};
    const folder = mkdtempSync(join(tmpdir(), "alert-"));
    writeFileSync(join(folder, "pair.pem"), cert + key);
    writeFileSync(join(folder, "ca.pem"), ours.cert);
    const options = "s_server -tls1_2 -accept 127.0.0.1:0 -naccept 1 -www -cert pair.pem -key pair.pem -CAfile ca.pem";
    const server = spawn("openssl", [...options.split(" "), "-Verify", "1", "-verify_return_error"], { cwd: folder });
    opened.push(async () => {
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    const [, port] = await new Promise<RegExpExecArray>((resolve) => {
      let printed = "";
      server.stdout.on("data", (chunk) => {
        printed += String(chunk);
        const found = /ACCEPT \S+:(\d+)/.exec(printed);
        if (found) resolve(found);
      });
    });
    const access = { server: `https://127.0.0.1:${port}`, namespace: "", tls: { ca: ours.cert } };
    const transport = new HttpTransport(
      {
        ...access,
        credentials: fixedCredential({ certificate: theirs.issue("eve") }),
      },
      client,
    );
    opened.push(() => transport.close());
    await expect(transport.send({ method: "GET", path: "/" })).rejects.toMatchObject({
      reason: "Unreachable",
      message: expect.stringContaining("the server rejected our client certificate"),
    });
  });

  test("that are replaced use new connections", async () => {
    const api = await serve("good", true);
    const pairs = [signed(), ours.issue("carol")];
    const transport = new HttpTransport(
      api.access({
        tls: { ca: ours.cert },
        credentials: { get: async () => ({ certificate: pairs[0] as Pair }), renew: async (same) => same },
      }),
      client,
    );
    opened.push(() => transport.close());
    expect((await transport.send({ method: "GET", path: "/" })).body).toEqual({ user: "alice" });
    pairs.shift();
    expect((await transport.send({ method: "GET", path: "/" })).body).toEqual({ user: "carol" });
  });
});
