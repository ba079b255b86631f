import { describe, expect, test } from "vitest";
import { isJsonObject } from "../primitives/deep-equal.ts";
import { convert } from "./convert.ts";

const key = "api.agents.x-k8s.io/v1beta1-sandbox-state";
const alphaVersion = "agents.x-k8s.io/v1alpha1";
const betaVersion = "agents.x-k8s.io/v1beta1";
const podTemplate = { spec: { containers: [{ name: "c", image: "harmless" }] } };

const up = (state: unknown, spec: object = { podTemplate, replicas: 1 }) =>
  convert(
    {
      apiVersion: alphaVersion,
      kind: "Sandbox",
      metadata: { name: "s", annotations: { [key]: typeof state === "string" ? state : JSON.stringify(state) } },
      spec,
    },
    betaVersion,
  );
const plain = {
  object: {
    apiVersion: betaVersion,
    kind: "Sandbox",
    metadata: { name: "s" },
    spec: { podTemplate, operatingMode: "Running" },
  },
};

describe("the annotation with saved v1beta1 fields", () => {
  test.for([
    [
      "change a field that v1alpha1 has",
      { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "evil" }] } } } },
    ],
    ["remove a field that v1alpha1 has", { spec: { podTemplate: null } }],
    ["set a mode that contradicts replicas", { spec: { operatingMode: "Suspended" } }],
    [
      "set a mode by other replicas than the object's",
      { spec: { operatingMode: "Suspended" }, shownAs: { replicas: 0 } },
    ],
    ["add a field that does not exist", { spec: { hostNetwork: true, constructor: 1 } }],
    ["change metadata", { metadata: { name: "other", finalizers: ["x"] }, apiVersion: "v1", kind: "Pod" }],
    ["set a prototype", '{"__proto__":{"spec":{"runtime":"Injected"}},"spec":{"__proto__":{"runtime":"Injected"}}}'],
  ] as const)("cannot %s", ([, state]) => {
    expect(up(state)).toEqual(plain);
    expect("runtime" in {}).toBe(false);
  });

  test.for([
    ["invalid JSON", "{"],
    ["a list", "[]"],
    ["a spec that is not an object", { spec: "x" }],
    ["a value of another type", { spec: { runtime: 5 } }],
    ["a value out of bounds", { spec: { idlePolicy: { suspendAfterSeconds: 1 } } }],
    ["null in a field that cannot be null", { spec: { runtime: null } }],
    ["a status of another type", { status: { nodeName: {} } }],
    ["more than a megabyte", { padding: "x".repeat(1 << 20) }],
    ["too many nested lists", `{"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["too many nested objects in an unknown field", `{"x":${'{"a":'.repeat(70)}1${"}".repeat(70)}}`],
  ] as const)("is refused if it contains %s, with a short error", ([, state]) => {
    const result = up(state);
    expect(result).toEqual({ error: expect.stringMatching(new RegExp(`cannot read annotation "${key}": .{5,200}$`)) });
  });

  test("is refused if it is not a string", () => {
    const source = { apiVersion: alphaVersion, kind: "Sandbox", metadata: { name: "s", annotations: { [key]: 5 } } };
    expect(convert(source, betaVersion)).toEqual({ error: expect.stringContaining("it is not a string") });
  });
});

describe("convert()", () => {
  const sandbox = { apiVersion: alphaVersion, kind: "Sandbox", metadata: { name: "s", namespace: "n" }, spec: {} };

  test.for([
    ["undefined", undefined, betaVersion, "not an object"],
    ["a list", [], betaVersion, "not an object"],
    ["an object without apiVersion", { kind: "Sandbox" }, betaVersion, "apiVersion and kind must be strings"],
    ["another kind", { ...sandbox, kind: "Pod" }, betaVersion, "the kind is not known"],
    ["another group", { ...sandbox, apiVersion: "apps/v1alpha1" }, betaVersion, "the kind is not known"],
    [
      "conversion to an unknown version",
      sandbox,
      "agents.x-k8s.io/v1",
      "want agents.x-k8s.io/v1alpha1 or agents.x-k8s.io/v1beta1",
    ],
    ["conversion to another group", sandbox, "extensions.agents.x-k8s.io/v1beta1", "want agents.x-k8s.io/v1alpha1 or"],
    [
      "an object of an unknown version",
      { ...sandbox, apiVersion: "agents.x-k8s.io/v0" },
      betaVersion,
      "want agents.x-k8s.io/v1alpha1",
    ],
    ["a spec that is a list", { ...sandbox, spec: [] }, betaVersion, "spec is not an object"],
    ["a status that is a string", { ...sandbox, status: "x" }, betaVersion, "status is not an object"],
    ["metadata that is a number", { ...sandbox, metadata: 1 }, betaVersion, "metadata is not an object"],
    [
      "annotations that are a list",
      { ...sandbox, metadata: { annotations: [] } },
      betaVersion,
      "metadata.annotations is not",
    ],
    [
      "replicas that are a string",
      { ...sandbox, spec: { replicas: "1" } },
      betaVersion,
      "spec.replicas is not a whole number",
    ],
  ] as const)("refuses %s", ([, object, version, message]) => {
    expect(convert(object, version)).toEqual({ error: expect.stringMatching(`^Cannot convert.*: ${message}`) });
  });

  test.for([
    ["a pool reference that is a string", { warmPoolRef: "p" }, "warmPoolRef is not an object"],
    ["a pool name that is a number", { warmPoolRef: { name: 1 } }, "warmPoolRef.name is not a string"],
  ] as const)("refuses %s", ([, spec, message]) => {
    const claim = {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: "c" },
      spec,
    };
    expect(convert(claim, "extensions.agents.x-k8s.io/v1alpha1")).toEqual({ error: expect.stringContaining(message) });
  });

  test("returns an object that already has the version unchanged", () => {
    const result = convert(sandbox, alphaVersion);
    expect("object" in result && result.object).toBe(sandbox);
  });

  test("converts a partial object, as server-side apply sends it", () => {
    const result = convert({ apiVersion: betaVersion, kind: "Sandbox" }, alphaVersion);
    expect(isJsonObject(result) && "object" in result && result.object).toMatchObject({
      apiVersion: alphaVersion,
      spec: { replicas: 1 },
    });
  });
});
