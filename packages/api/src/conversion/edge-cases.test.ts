import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { convert } from "./convert.ts";

const alphaKey = (kind: string) => `api.agents.x-k8s.io/v1alpha1-${kind.toLowerCase()}-state`;
const policyKey = "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy";
const groups: Record<string, string> = { Sandbox: "agents.x-k8s.io" };
const versionOf = (kind: string, version: string) => `${groups[kind] ?? "extensions.agents.x-k8s.io"}/${version}`;

interface Given {
  readonly spec?: object;
  readonly status?: object;
  readonly annotations?: Record<string, string>;
}
const object = (kind: string, version: string, { spec = {}, status, annotations }: Given) => ({
  apiVersion: versionOf(kind, version),
  kind,
  metadata: { name: "it", namespace: "ns", uid: "u", ...(annotations === undefined ? {} : { annotations }) },
  spec,
  ...(status === undefined ? {} : { status }),
});
const alpha = (kind: string, given: Given = {}) => object(kind, "v1alpha1", given);
const beta = (kind: string, given: Given = {}) => object(kind, "v1beta1", given);

const to = (version: string) => (source: JsonObject) => {
  const result = convert(source, versionOf(String(source["kind"]), version));
  if ("error" in result) throw new Error(result.error);
  return result.object;
};
const up = to("v1beta1");
const down = to("v1alpha1");

const part = (source: JsonObject, name: string): JsonObject => {
  const value = source[name] ?? {};
  if (!isJsonObject(value)) throw new Error(`${name} is no object`);
  return value;
};
const spec = (source: JsonObject) => part(source, "spec");
const status = (source: JsonObject) => part(source, "status");
const annotations = (source: JsonObject) => part(part(source, "metadata"), "annotations");

/** The annotation that other implementations write: the whole v1alpha1 object. */
const wholeObjectState = (kind: string, given: Given) => ({ [alphaKey(kind)]: JSON.stringify(alpha(kind, given)) });
const choice = (template: string, warmpool?: string) => ({
  sandboxTemplateRef: { name: template },
  ...(warmpool === undefined ? {} : { warmpool }),
});
const bound = (name: string) => ({ sandbox: { name } });

describe("Sandbox", () => {
  test("stores a Sandbox without replicas as Running and reads it without replicas (API-4)", () => {
    const converted = up(alpha("Sandbox"));
    expect(spec(converted)["operatingMode"]).toBe("Running");
    expect(spec(down(converted))).not.toHaveProperty("replicas");
  });

  test("reads a Sandbox without replicas from the state that other implementations save (API-4)", () => {
    const stored = beta("Sandbox", {
      spec: { operatingMode: "Running" },
      annotations: wholeObjectState("Sandbox", { status: { replicas: 0 } }),
    });
    expect(spec(down(stored))).not.toHaveProperty("replicas");
  });

  test.for([
    [1, "Running"],
    [0, "Suspended"],
  ] as const)("stores replicas %i as %s and reads them back (API-5)", ([replicas, mode]) => {
    const source = alpha("Sandbox", { spec: { replicas }, status: { replicas, selector: "a=b" } });
    const converted = up(source);
    expect(spec(converted)["operatingMode"]).toBe(mode);
    expect(status(converted)).toEqual({ selector: "a=b" });
    expect(down(converted)).toEqual(source);
  });

  test.for([
    ["Running", 1],
    ["Suspended", 0],
    ["", 1],
    [undefined, 1],
  ] as const)(
    "shows a v1beta1 Sandbox in mode %j with replicas and status.replicas %i (API-6)",
    ([operatingMode, replicas]) => {
      const seen = down(beta("Sandbox", { spec: operatingMode === undefined ? {} : { operatingMode } }));
      expect(spec(seen)["replicas"]).toBe(replicas);
      expect(status(seen)["replicas"]).toBe(replicas);
    },
  );

  test("computes status.replicas and ignores the saved value (API-7)", () => {
    const stored = beta("Sandbox", {
      spec: { operatingMode: "Running" },
      annotations: wholeObjectState("Sandbox", { spec: { replicas: 1 }, status: { replicas: 0 } }),
    });
    expect(status(down(stored))["replicas"]).toBe(1);
  });

  test.for([
    ["Suspended", 1, 0],
    ["Running", 0, 1],
    ["Running", 1, 1],
  ] as const)("mode %s overrides saved replicas %i: %i (API-7)", ([operatingMode, saved, expected]) => {
    const stored = beta("Sandbox", {
      spec: { operatingMode },
      annotations: wholeObjectState("Sandbox", { spec: { replicas: saved } }),
    });
    expect(spec(down(stored))["replicas"]).toBe(expected);
  });

  test("writes no annotation when v1beta1 holds everything (API-7)", () => {
    expect(annotations(up(alpha("Sandbox", { spec: { replicas: 0 } })))).toEqual({});
    expect(annotations(up(alpha("Sandbox", { spec: { replicas: 1 } })))).toEqual({});
  });

  test("saves a Sandbox without replicas so that other implementations read it as running (API-4)", () => {
    const state: unknown = JSON.parse(String(annotations(up(alpha("Sandbox")))[alphaKey("Sandbox")]));
    expect(state).toEqual({ spec: {}, status: { replicas: 1 } });
  });
});

test.for(["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"])(
  "never nests the saved state of a %s and does not modify the source (API-8)",
  (kind) => {
    const source = alpha(kind, { annotations: { [alphaKey(kind)]: '{"spec":{}}', keep: "me" } });
    const before = structuredClone(source);
    const written = annotations(up(source));
    expect(JSON.stringify(written).split("-state").length).toBeLessThanOrEqual(2);
    expect(written["keep"]).toBe("me");
    expect(source).toEqual(before);
  },
);

test.for(["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"])(
  "shows no state annotation on a %s read as v1alpha1 (API-9)",
  (kind) => {
    const stored = beta(kind, { annotations: { ...wholeObjectState(kind, { spec: {} }), keep: "me" } });
    const seen = annotations(down(stored));
    expect(seen).not.toHaveProperty([alphaKey(kind)]);
    expect(seen["keep"]).toBe("me");
  },
);

describe("SandboxClaim", () => {
  test.for([undefined, "it", "other-abcde", "my-pool-abcde"])(
    "uses the pool that the claim names, with Sandbox %j bound (API-10)",
    (sandbox) => {
      const claim = alpha("SandboxClaim", {
        spec: choice("my-template", "my-pool"),
        ...(sandbox === undefined ? {} : { status: bound(sandbox) }),
      });
      expect(spec(up(claim))["warmPoolRef"]).toEqual({ name: "my-pool" });
    },
  );

  test.for(["none", "default", "", undefined])(
    "uses the shadow pool for warmpool %j without a pool member (API-11)",
    (warmpool) => {
      const unbound = alpha("SandboxClaim", { spec: choice("my-template", warmpool) });
      const cold = { ...unbound, status: bound("it") };
      expect(spec(up(unbound))["warmPoolRef"]).toEqual({ name: "shadow-pool-my-template" });
      expect(spec(up(cold))["warmPoolRef"]).toEqual({ name: "shadow-pool-my-template" });
    },
  );

  test("uses the pool of the bound member for warmpool default (API-12)", () => {
    const claim = alpha("SandboxClaim", { spec: choice("my-template", "default"), status: bound("my-pool-abcde") });
    expect(spec(up(claim))["warmPoolRef"]).toEqual({ name: "my-pool" });
    expect(down(up(claim))).toMatchObject({ spec: choice("my-template", "default") });
  });

  test("keeps the pool of a converted claim when its status changes (API-12)", () => {
    const claim = alpha("SandboxClaim", { spec: choice("my-template", "default"), status: bound("my-pool-abcde") });
    const { status: _, ...seen } = down(up(claim));
    expect(spec(seen)).toEqual(choice("my-template", "default"));
    expect(spec(up(seen))["warmPoolRef"]).toEqual({ name: "my-pool" });
    const rebound = { ...up(claim), status: bound("else-12345") };
    expect(spec(down(rebound))).toEqual(choice("my-template", "default"));
  });

  test.for(["my-pool", ""])("shows the pool %j of a v1beta1 claim as pool and template (API-13)", (name) => {
    const seen = down(beta("SandboxClaim", { spec: { warmPoolRef: { name } } }));
    expect(spec(seen)).toEqual(choice(name, name));
  });

  test("shows the template of a v1beta1 claim on a shadow pool (API-14)", () => {
    const seen = down(beta("SandboxClaim", { spec: { warmPoolRef: { name: "shadow-pool-my-template" } } }));
    expect(spec(seen)).toEqual(choice("my-template", "default"));
  });

  test.for([
    ["default", "shadow-pool-my-template"],
    ["my-pool", "my-pool"],
  ] as const)(
    "shows a pool changed in v1beta1 and the former template, with warmpool %s (API-15)",
    ([warmpool, first]) => {
      const stored = up(alpha("SandboxClaim", { spec: choice("my-template", warmpool) }));
      expect(spec(stored)["warmPoolRef"]).toEqual({ name: first });
      const changed = { ...stored, spec: { warmPoolRef: { name: "other" } } };
      expect(spec(down(changed))).toEqual(choice("my-template", "other"));
    },
  );

  test.for([
    ["the saved pool", "p", "p", undefined, choice("t", "p")],
    ["the shadow of the saved template", "default", "shadow-pool-t", undefined, choice("t", "default")],
    ["the saved template", "none", "t", undefined, choice("t", "none")],
    ["the shadow of the saved pool", "p", "shadow-pool-p", undefined, choice("t", "p")],
    ["the bound Sandbox", "default", "pool-abcde", "pool-abcde", choice("t", "default")],
    ["the pool of the bound Sandbox", "default", "pool", "pool-abcde", choice("t", "default")],
    ["another pool", "default", "other", "pool-abcde", choice("t", "other")],
  ] as const)(
    "reads the state that other implementations save, on %s (API-15)",
    ([, warmpool, name, sandbox, expected]) => {
      const stored = beta("SandboxClaim", {
        spec: { warmPoolRef: { name } },
        annotations: wholeObjectState("SandboxClaim", { spec: choice("t", warmpool) }),
        ...(sandbox === undefined ? {} : { status: bound(sandbox) }),
      });
      const seen = down(stored);
      expect(spec(seen)).toEqual(expected);
      expect(spec(up(seen))["warmPoolRef"]).toEqual({ name });
    },
  );

  test.for(["default", "none"])("treats a pool named %s as a pool name (API-13)", (name) => {
    expect(spec(up(down(beta("SandboxClaim", { spec: { warmPoolRef: { name } } }))))["warmPoolRef"]).toEqual({ name });
  });
});

describe("SandboxTemplate", () => {
  test.for(["Disallowed", "Allowed", "Overrides"])(
    "carries policy %s in an annotation and removes it again (API-16)",
    (policy) => {
      const stored = beta("SandboxTemplate", { spec: { volumeClaimTemplatesPolicy: policy } });
      const seen = down(stored);
      expect(annotations(seen)[policyKey]).toBe(policy);
      expect(spec(seen)).toEqual({});
      expect(up(seen)).toEqual(stored);
    },
  );

  test.for([{}, { volumeClaimTemplatesPolicy: "" }])("keeps a cleared policy %j cleared (API-17)", (cleared) => {
    const seen = down(beta("SandboxTemplate", { spec: cleared, annotations: { [policyKey]: "Allowed" } }));
    expect(annotations(seen)).toEqual({});
    expect(spec(up(seen))).toEqual({});
  });

  test.for(["Sometimes", "", "allowed"])("rejects policy %j (API-18)", (policy) => {
    const source = alpha("SandboxTemplate", { annotations: { [policyKey]: policy } });
    expect(convert(source, versionOf("SandboxTemplate", "v1beta1"))).toEqual({
      error: expect.stringMatching(/^Cannot convert SandboxTemplate "ns\/it" from .*policy": .*"Disallowed"/),
    });
  });
});

describe("SandboxWarmPool", () => {
  test("shows missing replicas as 1 and keeps a missing updateStrategy missing (API-19)", () => {
    const native = beta("SandboxWarmPool", { spec: { sandboxTemplateRef: { name: "t" } } });
    expect(spec(down(native))).toEqual({ sandboxTemplateRef: { name: "t" }, replicas: 1 });
    const old = alpha("SandboxWarmPool", { spec: { sandboxTemplateRef: { name: "t" }, replicas: 0 } });
    expect(spec(up(old))).toEqual({ sandboxTemplateRef: { name: "t" }, replicas: 0 });
  });
});

describe("a state annotation that cannot be parsed", () => {
  const unreadable = ["", "{", "null", "[]", '"text"', "5", '{"spec":[]}', '{"spec":5}', '{"status":"x"}'];

  test.for(["Sandbox", "SandboxClaim"])("fails the conversion of a %s and names the annotation (API-20)", (kind) => {
    for (const text of unreadable) {
      const stored = beta(kind, { annotations: { [alphaKey(kind)]: text } });
      expect(convert(stored, versionOf(kind, "v1alpha1"))).toEqual({
        error: expect.stringContaining(`cannot read annotation "${alphaKey(kind)}"`),
      });
    }
  });

  test.for([
    ["Sandbox", '{"spec":{"replicas":"one"}}'],
    ["Sandbox", '{"spec":{"replicas":1.5}}'],
    ["SandboxClaim", '{"spec":{"sandboxTemplateRef":{"name":7}}}'],
    ["SandboxClaim", '{"spec":{"sandboxTemplateRef":"t"}}'],
    ["SandboxClaim", '{"spec":{"sandboxTemplateRef":{"name":"t"},"warmpool":[]}}'],
  ] as const)("fails the conversion of a %s with a field of another type: %s (API-20)", ([kind, text]) => {
    const stored = beta(kind, { annotations: { [alphaKey(kind)]: text } });
    expect(convert(stored, versionOf(kind, "v1alpha1"))).toEqual({
      error: expect.stringContaining(`cannot read annotation "${alphaKey(kind)}"`),
    });
  });

  test.for(["SandboxTemplate", "SandboxWarmPool"])("is ignored on a %s (API-20)", (kind) => {
    for (const text of unreadable) {
      expect(annotations(down(beta(kind, { annotations: { [alphaKey(kind)]: text } })))).not.toHaveProperty([
        alphaKey(kind),
      ]);
    }
  });
});
