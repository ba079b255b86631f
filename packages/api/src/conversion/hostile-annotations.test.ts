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

describe("what is saved for v1beta1", () => {
  test.for([
    ["a field that can be seen", { spec: { podTemplate: { spec: { containers: [{ name: "c", image: "evil" }] } } } }],
    ["the removal of one", { spec: { podTemplate: null } }],
    ["a mode that replicas deny", { spec: { operatingMode: "Suspended" } }],
    ["a mode shown as something else", { spec: { operatingMode: "Suspended" }, shownAs: { replicas: 0 } }],
    ["a field that does not exist", { spec: { hostNetwork: true, constructor: 1 } }],
    ["metadata", { metadata: { name: "other", finalizers: ["x"] }, apiVersion: "v1", kind: "Pod" }],
    ["a prototype", '{"__proto__":{"spec":{"runtime":"Injected"}},"spec":{"__proto__":{"runtime":"Injected"}}}'],
  ] as const)("cannot bring in %s", ([, state]) => {
    expect(up(state)).toEqual(plain);
    expect("runtime" in {}).toBe(false);
  });

  test.for([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["no object in a part", { spec: "x" }],
    ["a value of another type", { spec: { runtime: 5 } }],
    ["a value out of bounds", { spec: { idlePolicy: { suspendAfterSeconds: 1 } } }],
    ["null where nothing can be absent", { spec: { runtime: null } }],
    ["a status of another type", { status: { nodeName: {} } }],
    ["more than a megabyte", { padding: "x".repeat(1 << 20) }],
    ["depth without end", `{"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["depth in an unknown field", `{"x":${'{"a":'.repeat(70)}1${"}".repeat(70)}}`],
  ] as const)("is refused when it holds %s, and the error is short", ([, state]) => {
    const result = up(state);
    expect(result).toEqual({ error: expect.stringMatching(new RegExp(`cannot read annotation "${key}": .{5,200}$`)) });
  });

  test("an annotation that is no string is refused", () => {
    const source = { apiVersion: alphaVersion, kind: "Sandbox", metadata: { name: "s", annotations: { [key]: 5 } } };
    expect(convert(source, betaVersion)).toEqual({ error: expect.stringContaining("it is not a string") });
  });
});

describe("convert()", () => {
  const sandbox = { apiVersion: alphaVersion, kind: "Sandbox", metadata: { name: "s", namespace: "n" }, spec: {} };

  test.for([
    ["nothing", undefined, betaVersion, "not an object"],
    ["a list", [], betaVersion, "not an object"],
    ["no apiVersion", { kind: "Sandbox" }, betaVersion, "apiVersion and kind must be strings"],
    ["another kind", { ...sandbox, kind: "Pod" }, betaVersion, "the kind is not known"],
    ["another group", { ...sandbox, apiVersion: "apps/v1alpha1" }, betaVersion, "the kind is not known"],
    ["a version to come", sandbox, "agents.x-k8s.io/v1", "want agents.x-k8s.io/v1alpha1 or agents.x-k8s.io/v1beta1"],
    ["another group's version", sandbox, "extensions.agents.x-k8s.io/v1beta1", "want agents.x-k8s.io/v1alpha1 or"],
    [
      "a version gone by",
      { ...sandbox, apiVersion: "agents.x-k8s.io/v0" },
      betaVersion,
      "want agents.x-k8s.io/v1alpha1",
    ],
    ["a spec that is a list", { ...sandbox, spec: [] }, betaVersion, "spec is not an object"],
    ["a status that is a text", { ...sandbox, status: "x" }, betaVersion, "status is not an object"],
    ["metadata that is a number", { ...sandbox, metadata: 1 }, betaVersion, "metadata is not an object"],
    [
      "annotations that are a list",
      { ...sandbox, metadata: { annotations: [] } },
      betaVersion,
      "metadata.annotations is not",
    ],
    [
      "replicas that are a text",
      { ...sandbox, spec: { replicas: "1" } },
      betaVersion,
      "spec.replicas is not a whole number",
    ],
  ] as const)("refuses %s", ([, object, version, message]) => {
    expect(convert(object, version)).toEqual({ error: expect.stringMatching(`^Cannot convert.*: ${message}`) });
  });

  test.for([
    ["a pool reference that is a text", { warmPoolRef: "p" }, "warmPoolRef is not an object"],
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

  test("returns an object of that version as it is", () => {
    const result = convert(sandbox, alphaVersion);
    expect("object" in result && result.object).toBe(sandbox);
  });

  test("takes an object that lacks parts, as server-side apply sends them", () => {
    const result = convert({ apiVersion: betaVersion, kind: "Sandbox" }, alphaVersion);
    expect(isJsonObject(result) && "object" in result && result.object).toMatchObject({
      apiVersion: alphaVersion,
      spec: { replicas: 1 },
    });
  });
});
