import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepEqual } from "./deep-equal.ts";
import { semanticEqual } from "./semantic-equal.ts";

const container = (cpu: unknown) => ({ spec: { containers: [{ name: "c", resources: { requests: { cpu } } }] } });

describe("semanticEqual()", () => {
  test.for([
    ["absent and empty list", { finalizers: [] }, {}],
    ["absent and empty map", { metadata: { labels: {} } }, { metadata: {} }],
    ["absent and empty metadata", { metadata: { labels: {}, annotations: null } }, {}],
    ["null and absent", { spec: { service: null } }, { spec: {} }],
    ["undefined and an empty map on their own", undefined, {}],
    ["undefined and an empty list on their own", undefined, []],
    ["a quantity spelled differently", container("1000m"), container("1")],
    ["a quantity as a number", container(1), container("1")],
    [
      "a size limit",
      { volumes: [{ emptyDir: { sizeLimit: "1Gi" } }] },
      { volumes: [{ emptyDir: { sizeLimit: "1024Mi" } }] },
    ],
    ["a divisor", { resourceFieldRef: { divisor: "1" } }, { resourceFieldRef: { divisor: "1000m" } }],
    ["pod overhead", { spec: { overhead: { memory: "1Ki" } } }, { spec: { overhead: { memory: "1024" } } }],
    [
      "the capacity of a claim",
      { status: { capacity: { storage: "1G" } } },
      { status: { capacity: { storage: "1e9" } } },
    ],
    [
      "a time in another zone",
      { conditions: [{ lastTransitionTime: "2026-01-01T01:00:00+01:00" }] },
      { conditions: [{ lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    ],
    [
      "a shutdown time with a fraction of zero",
      { spec: { shutdownTime: "2026-01-01T00:00:00.000Z" } },
      { spec: { shutdownTime: "2026-01-01T00:00:00Z" } },
    ],
  ] as const)("%s: equal", ([, a, b]) => {
    expect(semanticEqual(a, b)).toBe(true);
    expect(semanticEqual(b, a)).toBe(true);
  });

  test.for([
    [
      "a label that looks like a quantity",
      { metadata: { labels: { cpu: "1000m" } } },
      { metadata: { labels: { cpu: "1" } } },
    ],
    [
      "a label named like a quantity field",
      { metadata: { labels: { requests: "1000m", sizeLimit: "1" } } },
      { metadata: { labels: { requests: "1", sizeLimit: "1" } } },
    ],
    [
      "an annotation named like a time field",
      { metadata: { annotations: { lastTransitionTime: "2026-01-01T00:00:00Z" } } },
      { metadata: { annotations: { lastTransitionTime: "2026-01-01T00:00:00.0Z" } } },
    ],
    ["a variable's value", { env: [{ name: "cpu", value: "1000m" }] }, { env: [{ name: "cpu", value: "1" }] }],
    ["invalid quantities", container("many"), container("lots")],
    ["quantities of different value", container("1"), container("1001m")],
    ["an empty selector and an absent one", { from: [{ namespaceSelector: {} }] }, { from: [{}] }],
    [
      "an empty volume source and an absent one",
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ name: "v" }] },
    ],
    ["a list of one empty rule and no rules", { ingress: [{}] }, { ingress: [] }],
    ["the order of a list", { args: ["a", "b"] }, { args: ["b", "a"] }],
    ["false and absent", { spec: { service: false } }, { spec: {} }],
    ["zero and absent", { spec: { replicas: 0 } }, { spec: {} }],
    ["an empty text and absent", { status: { nodeName: "" } }, { status: {} }],
    ["a number and its text", { port: 80 }, { port: "80" }],
  ] as const)("%s: different", ([, a, b]) => {
    expect(semanticEqual(a, b)).toBe(false);
    expect(semanticEqual(b, a)).toBe(false);
  });

  test("a part of an object is compared by its path in the object", () => {
    const [a, b] = [{ requests: { cpu: "1000m" } }, { requests: { cpu: "1" } }];
    expect(semanticEqual(a, b)).toBe(false);
    expect(semanticEqual(a, b, ["resources"])).toBe(true);
    expect(semanticEqual({}, undefined, ["namespaceSelector"])).toBe(false);
  });

  test("deeply equal values are semantically equal, in either order", () => {
    const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(semanticEqual(a, structuredClone(a))).toBe(true);
        expect(semanticEqual(a, b)).toBe(semanticEqual(b, a));
        expect(semanticEqual(a, b) || !deepEqual(a, b)).toBe(true);
      }),
    );
  });
});
