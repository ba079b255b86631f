import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";
import { issueCertificate } from "../tls/certificate.ts";
import { postJson } from "./webhook-client.ts";

const day = 24 * 60 * 60_000;
const lifetime = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + day };
const authority = issueCertificate({ commonName: "conversion authority", ...lifetime });
const names = ["127.0.0.1", "converter.default.svc"];
const { key, certificate } = issueCertificate(
  { commonName: "converter", names, ...lifetime },
  { commonName: "conversion authority", key: createPrivateKey(authority.key) },
);
const bundle = Buffer.from(authority.certificate).toString("base64");

interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly object[] };
}

let api: TestApi;
let server: Server;
let port: number;
let asked: { path: string; host: string | undefined; count: number }[] = [];
let works = true;

/** Changes only the version: these tests are about reaching a webhook. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { request: review } = (await json(request)) as Review;
  asked.push({ path: request.url ?? "", host: request.headers.host, count: review.objects.length });
  const convertedObjects = review.objects.map((object) => ({ ...object, apiVersion: review.desiredAPIVersion }));
  const result = works ? { status: "Success" } : { status: "Failure", message: "out of order" };
  const body = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
  response.end(JSON.stringify({ ...body, response: { uid: review.uid, convertedObjects, result } }));
}

const version = (name: string): object => ({
  name,
  served: true,
  storage: name === "v1",
  schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
});

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const things = (group: string, at: string, name = ""): string => `/apis/${group}/${at}/things${name}`;
const thing = (group: string, at: string, name: string): object => ({
  apiVersion: `${group}/${at}`,
  kind: "Thing",
  metadata: { name },
});

async function define(group: string, clientConfig: object): Promise<void> {
  const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
  await api.create(crds, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "things", kind: "Thing" },
      conversion: { strategy: "Webhook", webhook },
      versions: [version("v1"), version("v2")],
    },
  });
  await api.create(things(group, "v1"), thing(group, "v1", "one"));
}

const service = { namespace: "default", name: "converter", path: "/convert", port: 8443 };

describe("conversion webhooks", () => {
  beforeAll(async () => {
    server = createServer({ key, cert: certificate }, (request, response) => void answer(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    ({ port } = server.address() as AddressInfo);
    api = await TestApi.start();
  });
  afterAll(async () => {
    await api[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });

  test("are called at their URL", async () => {
    await define("url.example.com", { url: `https://127.0.0.1:${port}/here`, caBundle: bundle });
    asked = [];
    expect(await api.get(things("url.example.com", "v2", "/one"))).toMatchObject({ apiVersion: "url.example.com/v2" });
    expect(asked).toEqual([{ path: "/here?timeout=30s", host: `127.0.0.1:${port}`, count: 1 }]);
  });

  test("of a missing Service fail the request", async () => {
    await define("service.example.com", { service, caBundle: bundle });
    expect((await api.send("GET", things("service.example.com", "v2", "/one"))).body.message).toBe(
      'conversion webhook for service.example.com/v1, Kind=Thing failed: service "converter" not found',
    );
  });

  test("are called with the host name of their Service at one of its endpoints", async () => {
    asked = [];
    const url = "https://converter.default.svc:8443/convert";
    const address = { url, connectTo: { host: "127.0.0.1", port }, authority: authority.certificate };
    const review = { request: { uid: "u", desiredAPIVersion: "a/v2", objects: [{}] } };
    expect(await postJson(address, review)).toMatchObject({ response: { uid: "u" } });
    expect(asked).toEqual([{ path: "/convert?timeout=30s", host: "converter.default.svc:8443", count: 1 }]);
    const impostor = { ...address, url: "https://other.default.svc:8443/convert" };
    await expect(postJson(impostor, review)).rejects.toThrow("does not match certificate's altnames");
  });

  test("are not trusted without their certificate authority", async () => {
    await define("stranger.example.com", { url: `https://127.0.0.1:${port}/` });
    const { status, body } = await api.send("GET", things("stranger.example.com", "v2", "/one"));
    expect({ status, message: body.message }).toEqual({
      status: 500,
      message: expect.stringContaining(`failed: Post "https://127.0.0.1:${port}/?timeout=30s": `) as string,
    });
  });

  test("that are unreachable fail only requests that need them", async () => {
    await define("gone.example.com", { url: "https://127.0.0.1:1/", caBundle: bundle });
    expect(
      (await api.send("POST", things("gone.example.com", "v2"), thing("gone.example.com", "v2", "two"))).body,
    ).toEqual({
      apiVersion: "v1",
      kind: "Status",
      metadata: {},
      status: "Failure",
      code: 500,
      message:
        'conversion webhook for gone.example.com/v2, Kind=Thing failed: Post "https://127.0.0.1:1/?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused',
    });
    expect(await api.names(things("gone.example.com", "v1"))).toEqual(["one"]);
  });

  test("convert a list in one call, without the items that already have the version", async () => {
    await define("list.example.com", { url: `https://127.0.0.1:${port}/`, caBundle: bundle });
    await api.create(things("list.example.com", "v1"), thing("list.example.com", "v1", "two"));
    asked = [];
    expect(await api.names(things("list.example.com", "v2"))).toEqual(["one", "two"]);
    expect(await api.names(things("list.example.com", "v1"))).toEqual(["one", "two"]);
    expect(asked.map(({ count }) => count)).toEqual([2]);
  });

  test("that fail end a watch with an error event", async () => {
    await define("watch.example.com", { url: `https://127.0.0.1:${port}/`, caBundle: bundle });
    const watching = await api.watch(`${things("watch.example.com", "v2")}?watch=1`);
    expect(await watching.next()).toMatchObject({ type: "ADDED", object: { apiVersion: "watch.example.com/v2" } });
    works = false;
    await api.create(things("watch.example.com", "v1"), thing("watch.example.com", "v1", "two"));
    const { type, object } = await watching.next();
    works = true;
    expect(type).toBe("ERROR");
    expect(object).toMatchObject({ code: 500, message: expect.stringContaining("failed: out of order") as string });
    expect(await watching.ended()).toBe(true);
  });
});
