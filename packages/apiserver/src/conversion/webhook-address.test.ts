import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { ObjectCache } from "../store/object-cache.ts";
import { Saved } from "../store/saved.ts";
import { webhookAddress } from "./webhook-address.ts";

const named = (kind: string, rest: object): ApiObject => ({ apiVersion: "v1", kind, metadata: { name: "s" }, ...rest });
const storeWith = (objects: { readonly [key: string]: ApiObject }): Parameters<typeof webhookAddress>[1] => ({
  get: (resource, key) => {
    const object = objects[`${resource} ${key}`];
    if (object === undefined) return undefined;
    return new Saved(new ObjectCache(), { revision: 1, key, json: JSON.stringify(object) });
  },
});
const service = named("Service", {
  spec: {
    clusterIP: "10.96.0.9",
    ports: [
      { name: "other", port: 80 },
      { name: "hook", port: 8443 },
    ],
  },
});
const headless = named("Service", { spec: { clusterIP: "None", ports: [{ port: 443 }] } });
const endpoints = named("Endpoints", {
  subsets: [
    { notReadyAddresses: [{ ip: "10.0.0.1" }], ports: [{ name: "hook", port: 9443 }] },
    {
      addresses: [{ ip: "10.0.0.2" }],
      ports: [
        { name: "other", port: 1 },
        { name: "hook", port: 9443 },
      ],
    },
  ],
});
const reference = { namespace: "ns", name: "s", path: "/convert", port: 8443 };
const bundle = Buffer.from(" PEM \n").toString("base64");

test.for([
  ["a URL", { url: "https://h/p", caBundle: bundle }, {}, { url: "https://h/p", authority: "PEM" }],
  [
    "a URL with an authority of spaces",
    { url: "https://h/p", caBundle: "ICAg" },
    {},
    { url: "https://h/p", authority: undefined },
  ],
  [
    "the first ready endpoint of a Service",
    { service: reference },
    { "services ns/s": service, "endpoints ns/s": endpoints },
    { url: "https://s.ns.svc:8443/convert", connectTo: { host: "10.0.0.2", port: 9443 }, authority: undefined },
  ],
  [
    "the cluster IP of a Service without endpoints",
    { service: reference },
    { "services ns/s": service },
    { url: "https://s.ns.svc:8443/convert", connectTo: { host: "10.96.0.9", port: 8443 }, authority: undefined },
  ],
] as const)("%s", ([, config, objects, expected]) => {
  expect(webhookAddress(config, storeWith(objects))).toEqual(expected);
});

test.for([
  ["no Service", {}, 'service "s" not found'],
  ["no such port", { "services ns/s": headless }, 'no service port 8443 found for service "s"'],
  [
    "nobody behind it",
    { "services ns/s": named("Service", { spec: { clusterIP: "None", ports: [{ port: 8443 }] } }) },
    'no endpoints available for service "s"',
  ],
] as const)("nowhere: %s", ([, objects, why]) => {
  expect(() => webhookAddress({ service: reference }, storeWith(objects))).toThrow(why);
});
