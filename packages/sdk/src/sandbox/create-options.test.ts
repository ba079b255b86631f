import { describe, expect, test } from "vitest";
import { type CreateOptions, checkOptions, claimOf, sandboxOf } from "./create-options.ts";

const identity = { name: "one", namespace: "default", requestId: "id", now: Date.parse("2026-11-16T10:00:00.500Z") };
const metadata = {
  name: "one",
  namespace: "default",
  labels: { "agents.x-k8s.io/created-by": "typescript-client" },
  annotations: { "sdk.agents.x-k8s.io/request-id": "id" },
};

describe("options that contradict each other are refused", () => {
  test.for([
    ["nothing to create from", {}],
    ["two things to create from", { image: "host", pool: "p" }],
    ["limits without an image", { pool: "p", memory: "1Gi" }],
    ["variables of a snapshot", { snapshot: "s", env: { A: "b" } }],
    ["a negative lifetime", { image: "host", lifetimeSeconds: -1 }],
    ["an endless lifetime", { image: "host", lifetimeSeconds: Number.POSITIVE_INFINITY }],
  ] as const satisfies readonly (readonly [string, CreateOptions])[])("%s", ([, options]) => {
    expect(() => checkOptions(options)).toThrow(expect.objectContaining({ reason: "InvalidArgument" }));
  });
});

test("a sandbox of an image has the injected runtime", () => {
  const options = {
    image: "host",
    env: { A: "b" },
    memory: "1Gi",
    suspendAfterSeconds: 60,
    suspendDepth: "Memory",
    lifetimeSeconds: 90,
  } as const;
  expect(sandboxOf(options, identity)).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata,
    spec: {
      runtime: "Injected",
      podTemplate: {
        spec: {
          containers: [
            { name: "main", image: "host", env: [{ name: "A", value: "b" }], resources: { limits: { memory: "1Gi" } } },
          ],
        },
      },
      idlePolicy: { suspendAfterSeconds: 60 },
      suspendPolicy: { depth: "Memory" },
      shutdownTime: "2026-11-16T10:01:30Z",
      shutdownPolicy: "Delete",
    },
  });
});

test("a sandbox of a pool is a claim", () => {
  expect(claimOf("p", { pool: "p", labels: { team: "a" }, lifetimeSeconds: 90 }, identity)).toEqual({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { ...metadata, labels: { ...metadata.labels, team: "a" } },
    spec: { warmPoolRef: { name: "p" }, lifecycle: { shutdownTime: "2026-11-16T10:01:30Z", shutdownPolicy: "Delete" } },
  });
});
