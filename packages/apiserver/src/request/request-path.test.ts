import { describe, expect, test } from "vitest";
import { parsePath } from "./request-path.ts";

describe("parsePath()", () => {
  test.for([
    ["/", { kind: "other", path: "/" }],
    ["/api", { kind: "core-versions" }],
    ["/api/", { kind: "core-versions" }],
    ["/apis", { kind: "groups" }],
    ["/apis/apps", { kind: "group", group: "apps" }],
    ["/api/v1", { kind: "resources", apiVersion: "v1" }],
    ["/apis/apps/v1", { kind: "resources", apiVersion: "apps/v1" }],
    ["/api/v1/pods", { kind: "resource", apiVersion: "v1", plural: "pods" }],
    ["/api/v1/namespaces", { kind: "resource", apiVersion: "v1", plural: "namespaces" }],
    ["/api/v1/namespaces/a", { kind: "resource", apiVersion: "v1", plural: "namespaces", name: "a" }],
    [
      "/api/v1/namespaces/a/status",
      { kind: "resource", apiVersion: "v1", plural: "namespaces", name: "a", subresource: "status" },
    ],
    ["/api/v1/namespaces/a/pods", { kind: "resource", apiVersion: "v1", plural: "pods", namespace: "a" }],
    ["/api/v1/namespaces/a/pods/b", { kind: "resource", apiVersion: "v1", plural: "pods", namespace: "a", name: "b" }],
    [
      "/api/v1/namespaces/a/pods/b/exec",
      { kind: "resource", apiVersion: "v1", plural: "pods", namespace: "a", name: "b", subresource: "exec" },
    ],
    [
      "/apis/x.io/v1/namespaces/a/things/b%2Dc",
      { kind: "resource", apiVersion: "x.io/v1", plural: "things", namespace: "a", name: "b-c" },
    ],
    ["/healthz", { kind: "other", path: "/healthz" }],
  ] as const)("%s", ([path, expected]) => {
    expect(parsePath(path)).toEqual(expected);
  });

  test.for([
    "",
    "api",
    "/api//v1",
    "//api",
    "/api/v1/namespaces/../pods",
    "/api/v1/namespaces/%2e%2e/pods",
    "/api/v1/namespaces/%2E/pods",
    "/api/v1/namespaces/a%2fb/pods",
    "/api/v1/namespaces/a%5cb/pods",
    "/api/v1/namespaces/a%00/pods",
    "/api/v1/namespaces/%252e%252e/pods",
    "/api/v1/namespaces/%zz/pods",
    "/api/v1/namespaces/a/pods/b/exec/more",
  ])("does not accept %s", (path) => {
    expect(parsePath(path)).toBeUndefined();
  });
});
