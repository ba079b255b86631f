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
  test("9.1 row 6: replicas nil is Running, and nil again", () => {
    const converted = up(alpha("Sandbox"));
    expect(spec(converted)["operatingMode"]).toBe("Running");
    expect(spec(down(converted))).not.toHaveProperty("replicas");
  });

  test("9.1 row 6: also as other implementations saved it", () => {
    const stored = beta("Sandbox", {
      spec: { operatingMode: "Running" },
      annotations: wholeObjectState("Sandbox", { status: { replicas: 0 } }),
    });
    expect(spec(down(stored))).not.toHaveProperty("replicas");
  });

  test.for([
    [1, "Running"],
    [0, "Suspended"],
  ] as const)("9.1 row 7: replicas %i is %s and comes back, with status.replicas", ([replicas, mode]) => {
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
    "9.1 row 8: native v1beta1 in mode %j shows replicas and status.replicas %i",
    ([operatingMode, replicas]) => {
      const seen = down(beta("Sandbox", { spec: operatingMode === undefined ? {} : { operatingMode } }));
      expect(spec(seen)["replicas"]).toBe(replicas);
      expect(status(seen)["replicas"]).toBe(replicas);
    },
  );

  test("status.replicas is computed, never what was saved once", () => {
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
  ] as const)("mode %s overrules saved replicas %i: %i", ([operatingMode, saved, expected]) => {
    const stored = beta("Sandbox", {
      spec: { operatingMode },
      annotations: wholeObjectState("Sandbox", { spec: { replicas: saved } }),
    });
    expect(spec(down(stored))["replicas"]).toBe(expected);
  });

  test("no annotation is written where v1beta1 says it all", () => {
    expect(annotations(up(alpha("Sandbox", { spec: { replicas: 0 } })))).toEqual({});
    expect(annotations(up(alpha("Sandbox", { spec: { replicas: 1 } })))).toEqual({});
  });

  test("what is written for replicas nil reads as a v1alpha1 Sandbox that runs", () => {
    const state: unknown = JSON.parse(String(annotations(up(alpha("Sandbox")))[alphaKey("Sandbox")]));
    expect(state).toEqual({ spec: {}, status: { replicas: 1 } });
  });
});

test.for(["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"])(
  "9.1 row 9: the saved state of a %s never contains a state, and the source is not changed",
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
  "9.1 row 10: a %s read as v1alpha1 has no state annotation",
  (kind) => {
    const stored = beta(kind, { annotations: { ...wholeObjectState(kind, { spec: {} }), keep: "me" } });
    const seen = annotations(down(stored));
    expect(seen).not.toHaveProperty([alphaKey(kind)]);
    expect(seen["keep"]).toBe("me");
  },
);

describe("SandboxClaim", () => {
  test.for([undefined, "it", "other-abcde", "my-pool-abcde"])(
    "9.1 row 11: a pool named outright is the pool, with Sandbox %j bound",
    (sandbox) => {
      const claim = alpha("SandboxClaim", {
        spec: choice("my-template", "my-pool"),
        ...(sandbox === undefined ? {} : { status: bound(sandbox) }),
      });
      expect(spec(up(claim))["warmPoolRef"]).toEqual({ name: "my-pool" });
    },
  );

  test.for(["none", "default", "", undefined])(
    "9.1 row 12: warmpool %j without a warm Sandbox is the shadow pool",
    (warmpool) => {
      const unbound = alpha("SandboxClaim", { spec: choice("my-template", warmpool) });
      const cold = { ...unbound, status: bound("it") };
      expect(spec(up(unbound))["warmPoolRef"]).toEqual({ name: "shadow-pool-my-template" });
      expect(spec(up(cold))["warmPoolRef"]).toEqual({ name: "shadow-pool-my-template" });
    },
  );

  test("9.1 row 13: a warm Sandbox tells its pool", () => {
    const claim = alpha("SandboxClaim", { spec: choice("my-template", "default"), status: bound("my-pool-abcde") });
    expect(spec(up(claim))["warmPoolRef"]).toEqual({ name: "my-pool" });
    expect(down(up(claim))).toMatchObject({ spec: choice("my-template", "default") });
  });

  test("9.1 row 13: once converted, the pool no longer depends on the status", () => {
    const claim = alpha("SandboxClaim", { spec: choice("my-template", "default"), status: bound("my-pool-abcde") });
    const { status: _, ...seen } = down(up(claim));
    expect(spec(seen)).toEqual(choice("my-template", "default"));
    expect(spec(up(seen))["warmPoolRef"]).toEqual({ name: "my-pool" });
    const rebound = { ...up(claim), status: bound("else-12345") };
    expect(spec(down(rebound))).toEqual(choice("my-template", "default"));
  });

  test.for(["my-pool", ""])("9.1 row 14: a native claim on %j shows it as pool and template", (name) => {
    const seen = down(beta("SandboxClaim", { spec: { warmPoolRef: { name } } }));
    expect(spec(seen)).toEqual(choice(name, name));
  });

  test("9.1 row 15: a native claim on a shadow pool shows its template", () => {
    const seen = down(beta("SandboxClaim", { spec: { warmPoolRef: { name: "shadow-pool-my-template" } } }));
    expect(spec(seen)).toEqual(choice("my-template", "default"));
  });

  test.for([
    ["default", "shadow-pool-my-template"],
    ["my-pool", "my-pool"],
  ] as const)(
    "9.1 row 16: with warmpool %s, a pool changed in v1beta1 shows, and the template stays",
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
  ] as const)("9.1 row 16: as other implementations saved it, on %s", ([, warmpool, name, sandbox, expected]) => {
    const stored = beta("SandboxClaim", {
      spec: { warmPoolRef: { name } },
      annotations: wholeObjectState("SandboxClaim", { spec: choice("t", warmpool) }),
      ...(sandbox === undefined ? {} : { status: bound(sandbox) }),
    });
    const seen = down(stored);
    expect(spec(seen)).toEqual(expected);
    expect(spec(up(seen))["warmPoolRef"]).toEqual({ name });
  });

  test.for(["default", "none"])("a pool that is really named %s is not taken for a choice", (name) => {
    expect(spec(up(down(beta("SandboxClaim", { spec: { warmPoolRef: { name } } }))))["warmPoolRef"]).toEqual({ name });
  });
});

describe("SandboxTemplate", () => {
  test.for(["Disallowed", "Allowed", "Overrides"])(
    "9.1 row 17: policy %s travels in its annotation and leaves it",
    (policy) => {
      const stored = beta("SandboxTemplate", { spec: { volumeClaimTemplatesPolicy: policy } });
      const seen = down(stored);
      expect(annotations(seen)[policyKey]).toBe(policy);
      expect(spec(seen)).toEqual({});
      expect(up(seen)).toEqual(stored);
    },
  );

  test.for([{}, { volumeClaimTemplatesPolicy: "" }])(
    "9.1 row 18: a cleared policy %j does not come back",
    (cleared) => {
      const seen = down(beta("SandboxTemplate", { spec: cleared, annotations: { [policyKey]: "Allowed" } }));
      expect(annotations(seen)).toEqual({});
      expect(spec(up(seen))).toEqual({});
    },
  );

  test.for(["Sometimes", "", "allowed"])("9.1 row 19: policy %j fails the conversion", (policy) => {
    const source = alpha("SandboxTemplate", { annotations: { [policyKey]: policy } });
    expect(convert(source, versionOf("SandboxTemplate", "v1beta1"))).toEqual({
      error: expect.stringMatching(/^Cannot convert SandboxTemplate "ns\/it" from .*policy": .*"Disallowed"/),
    });
  });
});

describe("SandboxWarmPool", () => {
  test("9.1 row 20: nil replicas show as 1, nil updateStrategy stays nil both ways", () => {
    const native = beta("SandboxWarmPool", { spec: { sandboxTemplateRef: { name: "t" } } });
    expect(spec(down(native))).toEqual({ sandboxTemplateRef: { name: "t" }, replicas: 1 });
    const old = alpha("SandboxWarmPool", { spec: { sandboxTemplateRef: { name: "t" }, replicas: 0 } });
    expect(spec(up(old))).toEqual({ sandboxTemplateRef: { name: "t" }, replicas: 0 });
  });
});

describe("9.1 row 21: an unreadable state annotation", () => {
  const unreadable = ["", "{", "null", "[]", '"text"', "5", '{"spec":[]}', '{"spec":5}', '{"status":"x"}'];

  test.for(["Sandbox", "SandboxClaim"])("on a %s is an error that names it", (kind) => {
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
  ] as const)("on a %s with a field of another type is one too: %s", ([kind, text]) => {
    const stored = beta(kind, { annotations: { [alphaKey(kind)]: text } });
    expect(convert(stored, versionOf(kind, "v1alpha1"))).toEqual({
      error: expect.stringContaining(`cannot read annotation "${alphaKey(kind)}"`),
    });
  });

  test.for(["SandboxTemplate", "SandboxWarmPool"])("on a %s is dropped unread", (kind) => {
    for (const text of unreadable) {
      expect(annotations(down(beta(kind, { annotations: { [alphaKey(kind)]: text } })))).not.toHaveProperty([
        alphaKey(kind),
      ]);
    }
  });
});
