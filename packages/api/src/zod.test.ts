import { expect, test } from "vitest";
import { v1alpha1, v1beta1 } from "./zod.ts";

const podTemplate = { spec: { containers: [{ name: "main" }] } };

test.for([
  ["a Sandbox", v1beta1.sandboxSpec, { podTemplate, idlePolicy: { suspendAfterSeconds: 10 } }, true],
  ["a value below the minimum", v1beta1.sandboxSpec, { podTemplate, idlePolicy: { suspendAfterSeconds: 9 } }, false],
  ["a missing field", v1beta1.sandboxSpec, {}, false],
  ["a value that is not in the enum", v1beta1.sandboxSpec, { podTemplate, operatingMode: "x" }, false],
  ["a Pod spec that is not an object", v1beta1.sandboxSpec, { podTemplate: { spec: [] } }, false],
  ["an invalid time", v1beta1.sandboxSpec, { podTemplate, shutdownTime: "soon" }, false],
  ["a template", v1beta1.sandboxTemplateSpec, { podTemplate, networkPolicy: { egress: [{}] } }, true],
  ["a claim", v1beta1.sandboxClaimSpec, { warmPoolRef: { name: "p" }, env: [{ name: "A", value: "b" }] }, true],
  ["a pool", v1beta1.sandboxWarmPoolSpec, { sandboxTemplateRef: { name: "t" } }, true],
  [
    "a fraction instead of an integer",
    v1beta1.sandboxWarmPoolSpec,
    { sandboxTemplateRef: { name: "t" }, replicas: 1.5 },
    false,
  ],
  ["a v1alpha1 pool without replicas", v1alpha1.sandboxWarmPoolSpec, { sandboxTemplateRef: { name: "t" } }, false],
] as const)("%s", ([, schema, value, valid]) => {
  expect(schema.safeParse(value).success).toBe(valid);
});

test("unknown fields are dropped without an error", () => {
  expect(v1beta1.sandboxClaimSpec.parse({ warmPoolRef: { name: "p", x: 1 }, y: 2 })).toEqual({
    warmPoolRef: { name: "p" },
  });
});
