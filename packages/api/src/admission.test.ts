import { describe, expect, test } from "vitest";
import { alpha, beta, core, disk, errorsOf, type Fields } from "./admission.test.support.ts";
import type { Json } from "./schema/structural-schema.ts";

describe("what is refused", () => {
  const without = (given: { spec: Fields }, field: string) => {
    const { [field]: _, ...spec } = given.spec;
    return { ...given, spec };
  };
  const unsupported = (field: string, ...values: string[]) => [
    `spec.${field}: Unsupported value: "x": supported values: ${values.map((value) => `"${value}"`).join(", ")}`,
  ];
  const below = (field: string, value: number, bound: number) => [
    `spec.${field}: Invalid value: ${value}: spec.${field} in body should be greater than or equal to ${bound}`,
  ];
  const cases: readonly (readonly [string, object, string[]])[] = [
    ["a Sandbox without a spec", { apiVersion: `${core}/v1beta1`, kind: "Sandbox" }, ["spec: Required value"]],
    ["a Sandbox without a pod template", without(beta.sandbox(), "podTemplate"), ["spec.podTemplate: Required value"]],
    ["a pod template without a spec", beta.sandbox({ podTemplate: {} }), ["spec.podTemplate.spec: Required value"]],
    [
      "a Pod without containers",
      beta.sandbox({ podTemplate: { spec: {} } }),
      ["spec.podTemplate.spec.containers: Required value"],
    ],
    [
      "a container without a name",
      beta.sandbox({ podTemplate: { spec: { containers: [{}] } } }),
      ["spec.podTemplate.spec.containers[0].name: Required value"],
    ],
    [
      "a volume claim template without a spec",
      beta.sandbox({ volumeClaimTemplates: [{}] }),
      ["spec.volumeClaimTemplates[0].spec: Required value"],
    ],
    [
      "a time that is none",
      beta.sandbox({ shutdownTime: "soon" }),
      ['spec.shutdownTime: Invalid value: "soon": spec.shutdownTime in body must be of type date-time: "soon"'],
    ],
    [
      "a service that is not yes or no",
      beta.sandbox({ service: "yes" }),
      ['spec.service: Invalid value: "string": spec.service in body must be of type boolean: "string"'],
    ],
    [
      "another shutdown policy",
      beta.sandbox({ shutdownPolicy: "x" }),
      unsupported("shutdownPolicy", "Delete", "Retain"),
    ],
    [
      "another operating mode",
      beta.sandbox({ operatingMode: "x" }),
      unsupported("operatingMode", "Running", "Suspended"),
    ],
    [
      "replicas above 1 in v1alpha1",
      alpha.sandbox({ replicas: 2 }),
      ["spec.replicas: Invalid value: 2: spec.replicas in body should be less than or equal to 1"],
    ],
    ["replicas below 0 in v1alpha1", alpha.sandbox({ replicas: -1 }), below("replicas", -1, 0)],
    [
      "another network policy management",
      beta.template({ networkPolicyManagement: "x" }),
      unsupported("networkPolicyManagement", "Managed", "Unmanaged"),
    ],
    [
      "another env policy",
      alpha.template({ envVarsInjectionPolicy: "x" }),
      unsupported("envVarsInjectionPolicy", "Allowed", "Overrides", "Disallowed"),
    ],
    [
      "another volume policy",
      beta.template({ volumeClaimTemplatesPolicy: "x" }),
      unsupported("volumeClaimTemplatesPolicy", "Disallowed", "Allowed", "Overrides"),
    ],
    [
      "a network rule with a port that is none",
      beta.template({ networkPolicy: { egress: [{ ports: [{ endPort: "x" }] }] } }),
      [
        'spec.networkPolicy.egress[0].ports[0].endPort: Invalid value: "string": spec.networkPolicy.egress[0].ports[0].endPort in body must be of type integer: "string"',
      ],
    ],
    ["a claim without a pool", without(beta.claim(), "warmPoolRef"), ["spec.warmPoolRef: Required value"]],
    ["a claim of a pool without a name", beta.claim({ warmPoolRef: {} }), ["spec.warmPoolRef.name: Required value"]],
    [
      "a v1alpha1 claim without a template",
      without(alpha.claim(), "sandboxTemplateRef"),
      ["spec.sandboxTemplateRef: Required value"],
    ],
    [
      "a negative time to live",
      beta.claim({ lifecycle: { ttlSecondsAfterFinished: -1 } }),
      below("lifecycle.ttlSecondsAfterFinished", -1, 0),
    ],
    [
      "another claim policy",
      beta.claim({ lifecycle: { shutdownPolicy: "x" } }),
      unsupported("lifecycle.shutdownPolicy", "Delete", "DeleteForeground", "Retain"),
    ],
    [
      "a variable without name and value",
      beta.claim({ env: [{}] }),
      ["spec.env[0].name: Required value", "spec.env[0].value: Required value"],
    ],
    ["a pool below 0", beta.pool({ replicas: -1 }), below("replicas", -1, 0)],
    [
      "a pool without a template",
      without(beta.pool(), "sandboxTemplateRef"),
      ["spec.sandboxTemplateRef: Required value"],
    ],
    ["a v1alpha1 pool without replicas", without(alpha.pool(), "replicas"), ["spec.replicas: Required value"]],
    [
      "another update strategy",
      beta.pool({ updateStrategy: { type: "x" } }),
      unsupported("updateStrategy.type", "Recreate", "OnReplenish"),
    ],
    [
      "suspending too soon",
      beta.sandbox({ idlePolicy: { suspendAfterSeconds: 9 } }),
      below("idlePolicy.suspendAfterSeconds", 9, 10),
    ],
    [
      "deleting too soon",
      beta.template({ idlePolicy: { deleteAfterSeconds: 59 } }),
      below("idlePolicy.deleteAfterSeconds", 59, 60),
    ],
    ["another resume policy", beta.sandbox({ resumePolicy: "x" }), unsupported("resumePolicy", "OnTraffic", "Manual")],
    [
      "another depth of suspension",
      beta.sandbox({ suspendPolicy: { depth: "x" } }),
      unsupported("suspendPolicy.depth", "Volumes", "Filesystem", "Memory"),
    ],
    [
      "another fallback",
      beta.template({ suspendPolicy: { fallback: "x" } }),
      unsupported("suspendPolicy.fallback", "Allow", "Refuse"),
    ],
    [
      "another rule for connections",
      beta.sandbox({ idlePolicy: { connections: "x" } }),
      unsupported("idlePolicy.connections", "KeepAwake", "MaySleep"),
    ],
    ["another runtime", beta.template({ runtime: "x" }), unsupported("runtime", "Image", "Injected")],
    [
      "another retention",
      beta.sandbox({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "x" } }),
      unsupported("persistentVolumeClaimRetentionPolicy.whenDeleted", "Delete", "Retain"),
    ],
    [
      "a last activity that is no time",
      beta.sandbox({}, { lastActivityTime: "x" }),
      ['status.lastActivityTime: Invalid value: "x": status.lastActivityTime in body must be of type date-time: "x"'],
    ],
    [
      "an observed generation below 0",
      beta.pool({}, { observedGeneration: -1 }),
      [
        "status.observedGeneration: Invalid value: -1: status.observedGeneration in body should be greater than or equal to 0",
      ],
    ],
    [
      "a kind that is not ours",
      { apiVersion: "v1", kind: "Pod" },
      ["kind: Invalid value: not a kind and version of agent-sandbox"],
    ],
  ];
  test.for(cases)("%s", ([, given, expected]) => {
    expect(errorsOf(given)).toEqual(expected);
  });

  test("the minimum and maximum are valid", () => {
    expect(errorsOf(beta.sandbox({ idlePolicy: { suspendAfterSeconds: 10, deleteAfterSeconds: 60 } }))).toEqual([]);
    expect(errorsOf(beta.pool({ replicas: 0 }))).toEqual([]);
    expect(errorsOf(alpha.sandbox({ replicas: 0 }))).toEqual([]);
    expect(errorsOf(beta.sandbox({}, { lastActivityTime: "2026-01-01T00:00:00Z" }))).toEqual([]);
  });

  test("wrong types anywhere give errors, not exceptions", () => {
    const wrong: Json[] = [null, true, 5, 1.5, "x", [], {}, [null], [[]], { a: { b: {} } }];
    for (const value of wrong) {
      for (const field of ["podTemplate", "volumeClaimTemplates", "service", "shutdownTime", "idlePolicy"]) {
        expect(() => errorsOf(beta.sandbox({ [field]: value }))).not.toThrow();
      }
      expect(() => errorsOf({ ...beta.sandbox(), spec: value })).not.toThrow();
      expect(() => errorsOf({ ...beta.sandbox(), status: value })).not.toThrow();
    }
  });
});

describe("a condition", () => {
  const good = {
    type: "Ready",
    status: "True",
    reason: "PodReady",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const at = "status.conditions[0]";
  const cases: readonly (readonly [string, Fields, string[]])[] = [
    ["may have an empty message", {}, []],
    ["may be qualified", { type: "example.com/Ready" }, []],
    [
      "needs everything",
      { type: null, status: null, reason: null, message: null, lastTransitionTime: null },
      ["lastTransitionTime", "message", "reason", "status", "type"].map((name) => `${at}.${name}: Required value`),
    ],
    [
      "has no empty reason",
      { reason: "" },
      [`${at}.reason: Invalid value: "": ${at}.reason in body should be at least 1 chars long`],
    ],
    [
      "has a reason of at most 1024 characters",
      { reason: "a".repeat(1025) },
      [`${at}.reason: Too long: may not be more than 1024 bytes`],
    ],
    [
      "has a reason without spaces",
      { reason: "a b" },
      [
        `${at}.reason: Invalid value: "a b": ${at}.reason in body should match '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'`,
      ],
    ],
    [
      "has a message of at most 32768 characters",
      { message: "a".repeat(32769) },
      [`${at}.message: Too long: may not be more than 32768 bytes`],
    ],
    [
      "is true, false or unknown",
      { status: "Maybe" },
      [`${at}.status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"`],
    ],
    [
      "has a type of at most 316 characters",
      { type: "a".repeat(317) },
      [`${at}.type: Too long: may not be more than 316 bytes`],
    ],
    [
      "has no generation below 0",
      { observedGeneration: -1 },
      [
        `${at}.observedGeneration: Invalid value: -1: ${at}.observedGeneration in body should be greater than or equal to 0`,
      ],
    ],
    [
      "has a time",
      { lastTransitionTime: "x" },
      [`${at}.lastTransitionTime: Invalid value: "x": ${at}.lastTransitionTime in body must be of type date-time: "x"`],
    ],
  ];
  test.for(cases)("%s", ([, change, expected]) => {
    for (const kind of [beta.sandbox, alpha.sandbox]) {
      expect(errorsOf(kind({}, { conditions: [{ ...good, ...change }] }))).toEqual(expected);
    }
  });
});

describe("volumeClaimTemplates of a Sandbox", () => {
  const immutable = ["spec: Invalid value: volumeClaimTemplates is immutable"];
  const claims = (...list: Json[]) => ({ volumeClaimTemplates: list });
  const cases: readonly (readonly [string, Fields, Fields, string[]])[] = [
    ["may not grow", claims(disk), claims(disk, disk), immutable],
    ["may not be added", {}, claims(disk), immutable],
    ["may not be added even if empty", {}, claims(), immutable],
    ["may not be removed", claims(disk), {}, immutable],
    ["may not be edited", claims(disk), claims({ ...disk, metadata: { name: "other" } }), immutable],
    ["may stay", claims(disk), { ...claims(disk), operatingMode: "Suspended" }, []],
    ["may stay absent", {}, { operatingMode: "Suspended" }, []],
  ];
  test.for(cases)("%s", ([, before, after, expected]) => {
    expect(errorsOf(beta.sandbox(after), beta.sandbox(before))).toEqual(expected);
  });

  test("may change in v1alpha1, and on a template", () => {
    expect(errorsOf(alpha.sandbox(claims(disk)), alpha.sandbox())).toEqual([]);
    expect(errorsOf(beta.template(claims(disk)), beta.template())).toEqual([]);
  });
});
