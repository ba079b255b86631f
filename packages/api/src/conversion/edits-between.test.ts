import { describe, expect, test } from "vitest";
import type * as v1alpha1 from "../v1alpha1/index.ts";
import type * as v1beta1 from "../v1beta1/index.ts";
import { convert } from "./convert.ts";

interface Versions {
  Sandbox: { alpha: v1alpha1.Sandbox; beta: v1beta1.Sandbox };
  SandboxClaim: { alpha: v1alpha1.SandboxClaim; beta: v1beta1.SandboxClaim };
  SandboxTemplate: { alpha: v1alpha1.SandboxTemplate; beta: v1beta1.SandboxTemplate };
  SandboxWarmPool: { alpha: v1alpha1.SandboxWarmPool; beta: v1beta1.SandboxWarmPool };
}
type Beta<K extends keyof Versions> = Versions[K]["beta"] & { kind: K };
type Alpha<K extends keyof Versions> = Versions[K]["alpha"] & { kind: K };

/** Converts to v1alpha1, edits, and converts back. The saved state must not undo the edit, and the edit must not lose the saved state. */
function throughAlpha<K extends keyof Versions>(source: Beta<K>, edit: (seen: Alpha<K>) => void): Beta<K> {
  const seen = converted(source, source.apiVersion.replace("v1beta1", "v1alpha1")) as Alpha<K>;
  edit(seen);
  return converted(seen, source.apiVersion) as Beta<K>;
}

function throughBeta<K extends keyof Versions>(source: Alpha<K>, edit: (stored: Beta<K>) => void): Alpha<K> {
  const stored = converted(source, source.apiVersion.replace("v1alpha1", "v1beta1")) as Beta<K>;
  edit(stored);
  return converted(stored, source.apiVersion) as Alpha<K>;
}

function converted(source: unknown, apiVersion: string): unknown {
  const result = convert(source, apiVersion);
  if ("error" in result) throw new Error(result.error);
  return structuredClone(result.object);
}

const podTemplate = { spec: { containers: [{ name: "c", image: "i" }] } };
const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];

const sandbox: v1beta1.Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "s" },
  spec: {
    podTemplate,
    operatingMode: "Suspended",
    idlePolicy: { suspendAfterSeconds: 60 },
    resumePolicy: "Manual",
    runtime: "Injected",
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" },
  },
  status: { nodeName: "n", lastActivityTime: "2026-01-01T00:00:00Z" },
};
const claim: v1beta1.SandboxClaim = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "c" },
  spec: { warmPoolRef: { name: "shadow-pool-t" }, volumeClaimTemplates },
};
const pool: v1beta1.SandboxWarmPool = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name: "p" },
  spec: { sandboxTemplateRef: { name: "t" } },
  status: { replicas: 1, observedGeneration: 7 },
};

describe("an edit in v1alpha1", () => {
  test("of replicas to 1 resumes a suspended Sandbox and keeps fields that v1alpha1 does not have", () => {
    const edited = throughAlpha(sandbox, (seen) => {
      expect(seen.spec.replicas).toBe(0);
      seen.spec.replicas = 1;
    });
    expect(edited).toEqual({ ...sandbox, spec: { ...sandbox.spec, operatingMode: "Running" } });
  });

  test.for([{}, { nodeName: "n" }, undefined])("that changes nothing keeps the status %j", (status) => {
    const { status: _, ...rest } = sandbox;
    const source = status === undefined ? rest : { ...rest, status };
    expect(throughAlpha(source, () => {})).toEqual(source);
  });

  test("of replicas to 0 suspends a Sandbox without a mode", () => {
    const { operatingMode: _, ...spec } = sandbox.spec;
    const untouched = throughAlpha({ ...sandbox, spec }, () => {});
    expect(untouched.spec).not.toHaveProperty("operatingMode");
    const edited = throughAlpha({ ...sandbox, spec }, (seen) => {
      seen.spec.replicas = 0;
    });
    expect(edited.spec.operatingMode).toBe("Suspended");
  });

  test("of a pool sets absent replicas only if it edits replicas", () => {
    const scaled = throughAlpha(pool, (seen) => {
      seen.spec.replicas = 3;
    });
    expect(scaled).toEqual({ ...pool, spec: { ...pool.spec, replicas: 3 } });
    const retargeted = throughAlpha(pool, (seen) => {
      seen.spec.sandboxTemplateRef.name = "u";
    });
    expect(retargeted).toEqual({ ...pool, spec: { sandboxTemplateRef: { name: "u" } } });
  });

  test.for([
    ["another template", { sandboxTemplateRef: { name: "u" }, warmpool: "default" }, "shadow-pool-u"],
    ["a pool", { sandboxTemplateRef: { name: "t" }, warmpool: "p" }, "p"],
    ["the default pool", { sandboxTemplateRef: { name: "t" }, warmpool: "default" }, "shadow-pool-t"],
  ] as const)("of a claim to %s changes the pool and keeps the volumes", ([, spec, name]) => {
    const edited = throughAlpha(claim, (seen) => {
      Object.assign(seen.spec, spec);
    });
    expect(edited.spec).toEqual({ warmPoolRef: { name }, volumeClaimTemplates });
  });

  test("that removes the warmpool of a claim keeps the default pool", () => {
    const edited = throughAlpha({ ...claim, spec: { warmPoolRef: { name: "default" } } }, (seen) => {
      expect(seen.spec.warmpool).toBe("default");
      delete seen.spec.warmpool;
    });
    expect(edited.spec.warmPoolRef).toEqual({ name: "default" });
  });

  test("that removes the annotation of the policy clears the policy", () => {
    const template: v1beta1.SandboxTemplate = {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxTemplate",
      metadata: { name: "t" },
      spec: { podTemplate, volumeClaimTemplatesPolicy: "Allowed", runtime: "Injected" },
    };
    const edited = throughAlpha(template, (seen) => {
      delete seen.metadata.annotations?.["api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy"];
    });
    expect(edited.spec).toEqual({ podTemplate, runtime: "Injected" });
  });
});

describe("an edit in v1beta1", () => {
  const old: v1alpha1.Sandbox = {
    apiVersion: "agents.x-k8s.io/v1alpha1",
    kind: "Sandbox",
    metadata: { name: "s" },
    spec: { podTemplate },
  };

  test("of the mode changes replicas in v1alpha1", () => {
    const suspended = throughBeta(old, (stored) => {
      stored.spec.operatingMode = "Suspended";
    });
    expect(suspended.spec.replicas).toBe(0);
    expect(suspended.status?.replicas).toBe(0);
  });

  test("of another field leaves replicas unset", () => {
    const served = throughBeta(old, (stored) => {
      stored.spec.service = true;
    });
    expect(served.spec).toEqual({ podTemplate, service: true });
  });
});
