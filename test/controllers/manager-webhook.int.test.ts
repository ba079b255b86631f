import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { issueCertificate } from "@agent-sandbox/apiserver";
import { secrets } from "@agent-sandbox/controllers";
import { createClient, type Resource, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { flagTable } from "../../packages/controllers/src/manager/flag-table.ts";
import { MemoryPair } from "../../packages/controllers/src/manager/memory-pair.ts";
import {
  findCertificates,
  keepCertificates,
  manageCertificates,
} from "../../packages/controllers/src/manager/webhook-certificates.ts";
import type { IssueServingPair } from "../../packages/controllers/src/manager/webhook-pair.ts";
import { serveWebhook } from "../../packages/controllers/src/manager/webhook-server.ts";

const definitions: Resource<CustomResourceDefinition> = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const namespace = "agent-sandbox-system";
const serverName = `agent-sandbox-webhook-service.${namespace}.svc`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "webhook-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const flags = (over: object = {}) => ({
  ...(Object.fromEntries(Object.entries(flagTable).map(([name, { initial }]) => [name, initial])) as never as {
    readonly [Name in keyof typeof flagTable]: never;
  }),
  "webhook-cert-dir": folder as never,
  ...over,
});

const issue: IssueServingPair = ({ authorityName, names, notBeforeMs, notAfterMs }) => {
  const times = { notBeforeMs, notAfterMs };
  const authority = issueCertificate({ commonName: authorityName, ...times });
  const issuer = { commonName: authorityName, key: createPrivateKey(authority.key) };
  const { certificate, key } = issueCertificate({ commonName: names[0] ?? "", names, ...times }, issuer);
  return { authority: authority.certificate, certificate, key };
};

function openCluster() {
  const server = new MemoryApiServer({ resources: [secrets, definitions] });
  return { server, client: createClient(server) };
}

function definition(name: string, strategy: "Webhook" | "None"): CustomResourceDefinition {
  const spec = { conversion: { strategy }, group: "x", names: {}, scope: "Namespaced", versions: [] };
  return { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name }, spec } as never;
}

async function post(
  port: number,
  { ca, body, path = "/convert" }: { ca: string; body: string; path?: string },
): Promise<{ status: number | undefined; body: string }> {
  const sent = request({ host: "127.0.0.1", port, path, method: "POST", ca, servername: serverName, agent: false });
  sent.end(body);
  const [response] = await once(sent, "response");
  return { status: response.statusCode, body: await text(response) };
}

const review = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "ConversionReview",
  request: { uid: "u", desiredAPIVersion: "agents.x-k8s.io/v1beta1", objects: [] },
});

describe("certificates that the manager manages", () => {
  const nowMs = Date.now();

  test("are created once, shared, written to files and trusted by CRDs with a webhook only (MANAGER-1)", async () => {
    const { server, client } = openCluster();
    await client.create(definitions, definition("sandboxes.agents.x-k8s.io", "Webhook"));
    await client.create(definitions, definition("sandboxclaims.extensions.agents.x-k8s.io", "None"));
    const files = await manageCertificates(client, flags(), { issue, nowMs });
    const other = await manageCertificates(client, flags({ "webhook-cert-dir": join(folder, "other") }), {
      issue,
      nowMs,
    });
    expect(readFileSync(other.certificate, "utf8")).toBe(readFileSync(files.certificate, "utf8"));
    expect(statSync(files.key).mode & 0o777).toBe(0o600);
    const { data = {} } = await client.get(secrets, { namespace, name: "agent-sandbox-webhook-certs" });
    expect(server.read(definitions, { name: "sandboxes.agents.x-k8s.io" })?.spec.conversion).toEqual({
      strategy: "Webhook",
      webhook: {
        clientConfig: {
          caBundle: data["ca.crt"],
          service: { name: "agent-sandbox-webhook-service", namespace, path: "/convert" },
        },
        conversionReviewVersions: ["v1"],
      },
    });
    const untouched = server.read(definitions, { name: "sandboxclaims.extensions.agents.x-k8s.io" });
    expect(untouched?.spec.conversion).toEqual({ strategy: "None" });

    await using webhook = await serveWebhook({ address: { host: "127.0.0.1", port: 0 }, files, log: silentLogger });
    const ca = Buffer.from(data["ca.crt"] ?? "", "base64").toString();
    const answer = await post(webhook.port, { ca, body: review });
    expect(JSON.parse(answer.body)).toMatchObject({ response: { uid: "u", result: { status: "Success" } } });
    expect((await post(webhook.port, { ca, body: "{" })).status).toBe(400);
    expect((await post(webhook.port, { ca, body: review, path: "/mutate" })).status).toBe(404);
  });

  test("are not replaced when the Secret is not PEM, which stops the start (MANAGER-2)", async () => {
    const { server, client } = openCluster();
    const metadata = { namespace, name: "agent-sandbox-webhook-certs" };
    await client.create(secrets, { metadata, data: { "ca.crt": "eA==", "tls.crt": "", "tls.key": "" } });
    await expect(manageCertificates(client, flags(), { issue, nowMs })).rejects.toThrow("ca.crt is not valid PEM");
    expect(server.writes.get("patch secrets")).toBeUndefined();
  });

  const dayMs = 24 * 3_600_000;
  const secretPlace = { namespace, name: "agent-sandbox-webhook-certs" };
  const own = (name: string): object => ({ "webhook-cert-dir": join(folder, name) });

  test("cause no write when they are valid (MANAGER-3)", async () => {
    const { server, client } = openCluster();
    await client.create(definitions, definition("sandboxes.agents.x-k8s.io", "Webhook"));
    await manageCertificates(client, flags(), { issue, nowMs });
    const before = new Map(server.writes);
    await manageCertificates(client, flags(), { issue, nowMs: nowMs + 334 * dayMs });
    expect(server.writes).toEqual(before);
  });

  test("are renewed before they expire, with both authorities trusted meanwhile (MANAGER-4)", async () => {
    const { server, client } = openCluster();
    await client.create(definitions, definition("sandboxes.agents.x-k8s.io", "Webhook"));
    const [old, next] = [flags(own("old")), flags(own("next"))];
    const oldFiles = await manageCertificates(client, old, { issue, nowMs: nowMs - 336 * dayMs });
    const renewed = await Promise.all([0, 1].map(() => manageCertificates(client, next, { issue, nowMs })));
    expect(server.writes.get("patch secrets")).toBe(1);
    const [nextFiles = oldFiles] = renewed;
    const { conversion } = server.read(definitions, { name: "sandboxes.agents.x-k8s.io" })?.spec ?? {};
    const ca = Buffer.from(conversion?.webhook?.clientConfig?.caBundle ?? "", "base64").toString();
    for (const files of [oldFiles, nextFiles]) {
      await using webhook = await serveWebhook({ address: { host: "127.0.0.1", port: 0 }, files, log: silentLogger });
      expect((await post(webhook.port, { ca, body: review })).status).toBe(200);
    }
    await manageCertificates(client, old, { issue, nowMs });
    expect(readFileSync(oldFiles.certificate, "utf8")).toBe(readFileSync(nextFiles.certificate, "utf8"));
    // The next renewal drops the first authority.
    await manageCertificates(client, next, { issue, nowMs: nowMs + 336 * dayMs });
    const { data = {} } = await client.get(secrets, secretPlace);
    expect(
      Buffer.from(data["ca.crt"] ?? "", "base64")
        .toString()
        .match(/BEGIN/g),
    ).toHaveLength(2);
  });

  test("that have expired are replaced, and the API server is told the new authority (MANAGER-4)", async () => {
    const { client, server } = openCluster();
    await client.create(definitions, definition("sandboxes.agents.x-k8s.io", "Webhook"));
    const [old, next] = [flags(own("expired")), flags(own("replaced"))];
    await manageCertificates(client, old, { issue, nowMs: nowMs - 400 * dayMs });
    const files = await manageCertificates(client, next, { issue, nowMs });
    await using webhook = await serveWebhook({ address: { host: "127.0.0.1", port: 0 }, files, log: silentLogger });
    const { conversion } = server.read(definitions, { name: "sandboxes.agents.x-k8s.io" })?.spec ?? {};
    const ca = Buffer.from(conversion?.webhook?.clientConfig?.caBundle ?? "", "base64").toString();
    expect((await post(webhook.port, { ca, body: review })).status).toBe(200);
  });

  test.for([
    ["another Service", { "webhook-service-name": "converter" }],
    ["another domain", { "cluster-domain": "my.net" }],
  ] as const)("are replaced for %s (MANAGER-5)", async ([, over]) => {
    const { client } = openCluster();
    await manageCertificates(client, flags(), { issue, nowMs });
    const before = await client.get(secrets, secretPlace);
    const files = await manageCertificates(client, flags(over), { issue, nowMs });
    expect(readFileSync(files.certificate).toString("base64")).not.toBe(before.data?.["tls.crt"]);
  });

  test("are replaced when key, certificate and authority do not belong together (MANAGER-5)", async () => {
    const { client } = openCluster();
    await manageCertificates(client, flags(), { issue, nowMs });
    const { data: first = {} } = await client.get(secrets, secretPlace);
    const stranger = issue({ authorityName: "x", names: ["x"], notBeforeMs: nowMs, notAfterMs: nowMs + dayMs });
    for (const [name, text] of [
      ["tls.key", stranger.key],
      ["ca.crt", stranger.authority],
    ] as const) {
      const data = { ...first, [name]: Buffer.from(text).toString("base64") };
      await client.patch(secrets, secretPlace, { type: "merge", body: { data } });
      await manageCertificates(client, flags(), { issue, nowMs });
      const { data: after = {} } = await client.get(secrets, secretPlace);
      expect(after["tls.crt"]).not.toBe(first["tls.crt"]);
    }
  });

  test("are kept in memory where no files can be written, and renewed there (MANAGER-1, MANAGER-7)", async () => {
    const { client } = openCluster();
    // Root ignores permissions, but nobody can create folders in /sys.
    const readOnly = flags({ "webhook-cert-dir": "/sys/serving-certs" });
    const memory = new MemoryPair();
    const files = await manageCertificates(client, readOnly, { issue, nowMs: nowMs - 336 * dayMs, memory });
    expect(files.memory).toBe(memory);
    const told: object[] = [];
    const log = { ...silentLogger, info: (fields: object) => void told.push(fields) };
    await using webhook = await serveWebhook({ address: { host: "127.0.0.1", port: 0 }, files, log });
    const authority = async (): Promise<string> => {
      const { data = {} } = await client.get(secrets, secretPlace);
      return Buffer.from(data["ca.crt"] ?? "", "base64").toString();
    };
    const old = await authority();
    expect((await post(webhook.port, { ca: old, body: review })).status).toBe(200);
    await manageCertificates(client, readOnly, { issue, nowMs, memory });
    await expect.poll(() => told).toEqual([{ files: "in memory" }]);
    expect((await post(webhook.port, { ca: await authority(), body: review })).status).toBe(200);
    await expect(post(webhook.port, { ca: old, body: review })).rejects.toThrow(/certificate/);
  });

  test("are checked every hour, also after a failure, until the manager stops (MANAGER-4)", async () => {
    const clock = new VirtualClock();
    let looks = 0;
    const look = (): Promise<void> => {
      looks += 1;
      return looks === 1 ? Promise.reject(new Error("away")) : Promise.resolve();
    };
    const told: string[] = [];
    const log = { ...silentLogger, error: (_fields: object, message: string) => void told.push(message) };
    const keeping = keepCertificates(look, { log, scheduler: clock });
    await clock.advance(2 * 3_600_000);
    expect([looks, told]).toEqual([2, ["webhook certificates not checked"]]);
    await keeping[Symbol.asyncDispose]();
    await clock.advance(2 * 3_600_000);
    expect(looks).toBe(2);
  });
});

describe("certificates that the user manages", () => {
  test.for([
    ["the default pair", ["tls.crt", "tls.key"], {}, ["tls.crt", "tls.key"]],
    [
      "other names",
      ["a.crt", "b.key"],
      { "webhook-cert-name": "a.crt", "webhook-key-name": "b.key" },
      ["a.crt", "b.key"],
    ],
    [
      "one file named twice",
      ["x.pem"],
      { "webhook-cert-name": "x.pem", "webhook-key-name": "x.pem" },
      ["x.pem", "x.pem"],
    ],
    ["cert.pem when neither default exists", ["cert.pem"], {}, ["cert.pem", "cert.pem"]],
  ] as const)("are read from %s (MANAGER-6)", async ([, files, over, [certificate, key]]) => {
    for (const file of files) writeFileSync(join(folder, file), "pem");
    const found = await findCertificates(flags(over));
    expect(found).toEqual({ certificate: join(folder, certificate), key: join(folder, key) });
  });

  test.for([
    ["half a pair", ["tls.crt", "cert.pem"], {}, "there is no"],
    ["other names that are missing", ["cert.pem"], { "webhook-cert-name": "a.crt" }, "there is no"],
  ] as const)("are rejected: %s (MANAGER-6)", async ([, files, over, reason]) => {
    for (const file of files) writeFileSync(join(folder, file), "pem");
    await expect(findCertificates(flags(over))).rejects.toThrow(reason);
  });

  test("are rejected when a directory is in the place of a file (MANAGER-6)", async () => {
    mkdirSync(join(folder, "tls.crt"));
    await expect(findCertificates(flags())).rejects.toThrow("is not a file");
  });
});

test("loads a new certificate without a restart, and keeps the old one when the new one is broken (MANAGER-7)", async () => {
  const made = (): ReturnType<IssueServingPair> =>
    issue({
      authorityName: "ca",
      names: [serverName],
      notBeforeMs: Date.now() - 60_000,
      notAfterMs: Date.now() + 600_000,
    });
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const put = ({ certificate, key }: { certificate: string; key: string }): void => {
    writeFileSync(files.certificate, certificate);
    writeFileSync(files.key, key);
  };
  const [old, next] = [made(), made()];
  put(old);
  const said: string[] = [];
  let tell = (): void => undefined;
  const note = (_fields: object, message: string): void => {
    said.push(message);
    tell();
  };
  const told = (message: string): Promise<void> =>
    new Promise((resolve) => {
      tell = () => (said.at(-1) === message ? resolve() : undefined);
    });
  const log = { ...silentLogger, info: note, error: note };
  const address = { host: "127.0.0.1", port: 0 };
  await using webhook = await serveWebhook({ address, files, log, checkEveryMs: 20 });
  expect((await post(webhook.port, { ca: old.authority, body: review })).status).toBe(200);

  const refused = told("webhook certificate not usable, keeping the previous one");
  put({ certificate: "broken", key: "broken" });
  await refused;
  expect((await post(webhook.port, { ca: old.authority, body: review })).status).toBe(200);

  const loaded = told("webhook certificate loaded");
  put(next);
  await loaded;
  expect((await post(webhook.port, { ca: next.authority, body: review })).status).toBe(200);
  await expect(post(webhook.port, { ca: old.authority, body: review })).rejects.toThrow(/certificate/);
});
