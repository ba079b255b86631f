import { describe, expect, test } from "vitest";
import { attributesOf, type PathAttributes, type ResourceAttributes } from "./attributes.ts";

const none = { group: "", version: "v1", namespace: "", subresource: "", name: "" };
const of = (verb: string, resource: string, more: Partial<ResourceAttributes> = {}): ResourceAttributes => ({
  kind: "resource",
  ...none,
  verb,
  resource,
  ...more,
});
const path = (verb: string, at: string): PathAttributes => ({ kind: "path", verb, path: at });

const core = "/api/v1";
const pods = `${core}/namespaces/ns/pods`;
const sandboxes = "/apis/agents.x-k8s.io/v1beta1/namespaces/ns/sandboxes";
const group = { group: "agents.x-k8s.io", version: "v1beta1", namespace: "ns" };

describe("attributesOf()", () => {
  test.for([
    ["GET", `${core}/pods`, of("list", "pods")],
    ["GET", pods, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}/`, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}?watch=true`, of("watch", "pods", { namespace: "ns" })],
    ["GET", `${pods}?watch`, of("watch", "pods", { namespace: "ns" })],
    ["GET", `${pods}?watch=yes`, of("watch", "pods", { namespace: "ns" })],
    ["GET", `${pods}?watch=0`, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}?watch=false&watch=true`, of("watch", "pods", { namespace: "ns" })],
    ["GET", `${pods}/p`, of("get", "pods", { namespace: "ns", name: "p" })],
    ["GET", `${pods}/p?watch=true`, of("get", "pods", { namespace: "ns", name: "p" })],
    ["GET", `${pods}/p/log`, of("get", "pods", { namespace: "ns", name: "p", subresource: "log" })],
    ["GET", `${pods}/p/exec`, of("get", "pods", { namespace: "ns", name: "p", subresource: "exec" })],
    ["POST", `${pods}/p/exec`, of("create", "pods", { namespace: "ns", name: "p", subresource: "exec" })],
    ["POST", pods, of("create", "pods", { namespace: "ns" })],
    ["PUT", `${pods}/p`, of("update", "pods", { namespace: "ns", name: "p" })],
    ["PATCH", `${pods}/p/status`, of("patch", "pods", { namespace: "ns", name: "p", subresource: "status" })],
    ["DELETE", `${pods}/p`, of("delete", "pods", { namespace: "ns", name: "p" })],
    ["DELETE", pods, of("deletecollection", "pods", { namespace: "ns" })],
    ["DELETE", `${pods}?fieldSelector=metadata.name%3Dp`, of("deletecollection", "pods", { namespace: "ns" })],
    ["GET", `${pods}?fieldSelector=metadata.name%3Dp`, of("list", "pods", { namespace: "ns", name: "p" })],
    ["GET", `${pods}?fieldSelector=metadata.name%3Dp&watch=1`, of("watch", "pods", { namespace: "ns", name: "p" })],
    ["GET", `${pods}?fieldSelector=metadata.name!%3Dp`, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}?fieldSelector=spec.nodeName%3Dn`, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}?fieldSelector=metadata.name%3Da%2Fb`, of("list", "pods", { namespace: "ns" })],
    ["GET", `${pods}?fieldSelector=metadata.name%3D..`, of("list", "pods", { namespace: "ns" })],
    [
      "GET",
      `${pods}?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db`,
      of("list", "pods", { namespace: "ns" }),
    ],
    ["GET", `${core}/namespaces`, of("list", "namespaces")],
    ["GET", `${core}/namespaces/ns`, of("get", "namespaces", { namespace: "ns", name: "ns" })],
    [
      "PUT",
      `${core}/namespaces/ns/finalize`,
      of("update", "namespaces", { namespace: "ns", name: "ns", subresource: "finalize" }),
    ],
    ["GET", `${core}/nodes/n`, of("get", "nodes", { name: "n" })],
    ["GET", sandboxes, of("list", "sandboxes", group)],
    ["PUT", `${sandboxes}/s/scale`, of("update", "sandboxes", { ...group, name: "s", subresource: "scale" })],
    ["GET", `${core}/nodes/%6e`, of("get", "nodes", { name: "n" })],
    ["GET", "/", path("get", "/")],
    ["GET", "/api", path("get", "/api")],
    ["GET", "/api/v1", path("get", "/api/v1")],
    ["GET", "/api/v1/", path("get", "/api/v1")],
    ["GET", "/apis/apps/v1?x=y", path("get", "/apis/apps/v1")],
    ["POST", "/healthz", path("post", "/healthz")],
    ["GET", "/openapi/v3/apis/apps", path("get", "/openapi/v3/apis/apps")],
    ["GET", "/%61pi", path("get", "/api")],
    ["GET", "/healthz/../api/v1/secrets", path("get", "/healthz/../api/v1/secrets")],
    ["GET", "/%", path("get", "/%")],
    ["GET", "", path("get", "")],
  ] as const)("%s %s", ([method, url, expected]) => {
    expect(attributesOf({ method, url })).toEqual(expected);
  });
});
