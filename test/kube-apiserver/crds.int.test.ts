import { crds } from "@agent-sandbox/api/crds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConversionWebhook, startConversionWebhook } from "./conversion-webhook.ts";
import { installCrds } from "./install-crds.ts";
import type { Outcome } from "./kubectl.ts";
import { type Kubernetes, startKubernetes } from "./start.ts";

let kubernetes: Kubernetes;
let webhook: ConversionWebhook;
let appliedAsTheyAre: Outcome;

beforeAll(async () => {
  kubernetes = await startKubernetes();
  const folder = `${import.meta.dirname}/../../deploy/crds`;
  appliedAsTheyAre = await kubernetes.kubectl(["apply", "--server-side", "--dry-run=server", "-f", folder]);
  webhook = await startConversionWebhook(kubernetes.authority);
  await installCrds(kubernetes, { webhook });
  // The first start on a machine compiles Kubernetes.
}, 60 * 60_000);

afterAll(async () => {
  await kubernetes.stop();
  await webhook[Symbol.asyncDispose]();
});

const run = (...words: string[]): Promise<Outcome> => kubernetes.kubectl(words);

/** Runs a command that must succeed without warnings other than the deprecation of v1alpha1. */
async function must(words: readonly string[], stdin = ""): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(words, { stdin });
  const warnings = stderr.replace(/^Warning: \S+\/v1alpha1 (\w+) is deprecated; use \S+\/v1beta1 \1 instead\n/gm, "");
  expect({ code, warnings }).toEqual({ code: 0, warnings: "" });
  return stdout;
}

const create = (object: object): Promise<string> => must(["create", "-f", "-"], JSON.stringify(object));

interface Read {
  readonly apiVersion: string;
  readonly metadata: { readonly generation: number; readonly annotations?: Record<string, string> };
  readonly spec: Record<string, unknown>;
}

async function read(resource: string, name: string): Promise<Read> {
  return JSON.parse(await must(["get", resource, name, "-o", "json"])) as Read;
}

const alpha = "sandboxes.v1alpha1.agents.x-k8s.io";
const beta = "sandboxes.v1beta1.agents.x-k8s.io";
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
const volumeClaimTemplates = [
  {
    metadata: { name: "work" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
];

function sandbox(name: string, spec: object, version = "v1beta1"): object {
  return { apiVersion: `agents.x-k8s.io/${version}`, kind: "Sandbox", metadata: { name }, spec };
}

function extension(kind: string, name: string, spec: object, version = "v1beta1"): object {
  return { apiVersion: `extensions.agents.x-k8s.io/${version}`, kind, metadata: { name }, spec };
}

describe("the definitions", () => {
  test("in deploy/crds are accepted without a warning", () => {
    const names = [
      "sandboxes.agents.x-k8s.io",
      "sandboxclaims.extensions.agents.x-k8s.io",
      "sandboxtemplates.extensions.agents.x-k8s.io",
      "sandboxwarmpools.extensions.agents.x-k8s.io",
      "sandboxsnapshots.snapshots.agents.x-k8s.io",
    ];
    const lines = names.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name} serverside-applied`);
    expect(appliedAsTheyAre).toEqual({
      code: 0,
      stdout: lines.map((line) => `${line} (server dry run)\n`).join(""),
      stderr: "",
    });
  });

  test("are structural and established, without error conditions", async () => {
    const { items } = JSON.parse(await must(["get", "crds", "-o", "json"])) as {
      items: { status: { conditions: { type: string; status: string }[]; storedVersions: string[] } }[];
    };
    const found = items.map(({ status: { conditions, storedVersions } }) => ({
      storedVersions,
      conditions: Object.fromEntries(conditions.map(({ type, status }) => [type, status])),
    }));
    const sorted = crds.toSorted((a, b) => (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
    expect(found).toEqual(
      sorted.map(({ spec }) => ({
        storedVersions: [spec.versions.find(({ storage }) => storage)?.name],
        conditions: { NamesAccepted: "True", Established: "True" },
      })),
    );
  });
});

describe("conversion by our webhook", () => {
  test("v1alpha1 has a deprecation warning", async () => {
    const { stderr } = await run("get", alpha);
    expect(stderr).toContain("Warning: agents.x-k8s.io/v1alpha1 Sandbox is deprecated; use agents.x-k8s.io/v1beta1");
  });

  test("a v1alpha1 Sandbox is stored as v1beta1 and read back unchanged", async () => {
    const spec = { podTemplate, replicas: 0, shutdownPolicy: "Delete", volumeClaimTemplates };
    const before = webhook.answered;
    await create(sandbox("from-alpha", spec, "v1alpha1"));
    expect(webhook.answered).toBeGreaterThan(before);
    const { replicas, ...shared } = spec;
    expect((await read(beta, "from-alpha")).spec).toEqual({ ...shared, operatingMode: "Suspended" });
    expect((await read(alpha, "from-alpha")).spec).toEqual({ ...shared, replicas });
  });

  test("a v1beta1 Sandbox loses nothing when it is changed through v1alpha1", async () => {
    const spec = {
      podTemplate,
      operatingMode: "Running",
      shutdownPolicy: "Retain",
      resumePolicy: "OnTraffic",
      idlePolicy: { suspendAfterSeconds: 600 },
    };
    await create(sandbox("from-beta", spec));
    const { spec: seen } = await read(alpha, "from-beta");
    expect(seen).toEqual({ podTemplate, replicas: 1, shutdownPolicy: "Retain" });
    await must(["patch", alpha, "from-beta", "--type=merge", "-p", JSON.stringify({ spec: { service: true } })]);
    expect((await read(beta, "from-beta")).spec).toEqual({ ...spec, service: true });
  });

  test("kubectl scale of a v1alpha1 Sandbox suspends and resumes it", async () => {
    await create(sandbox("scaled", { podTemplate }));
    await must(["scale", alpha, "scaled", "--replicas=0"]);
    expect((await read(beta, "scaled")).spec["operatingMode"]).toBe("Suspended");
    await must(["scale", alpha, "scaled", "--replicas=1"]);
    expect((await read(beta, "scaled")).spec["operatingMode"]).toBe("Running");
  });

  test("claims, templates and pools convert in both directions", async () => {
    const cases = [
      ["SandboxTemplate", { podTemplate, networkPolicyManagement: "Unmanaged", envVarsInjectionPolicy: "Allowed" }],
      [
        "SandboxWarmPool",
        { replicas: 2, sandboxTemplateRef: { name: "python" }, updateStrategy: { type: "Recreate" } },
      ],
      ["SandboxClaim", { sandboxTemplateRef: { name: "python" }, warmpool: "default" }],
    ] as const;
    for (const [kind, spec] of cases) {
      await create(extension(kind, "converted", spec, "v1alpha1"));
      expect((await read(`${kind}.v1alpha1.extensions.agents.x-k8s.io`, "converted")).spec).toEqual(spec);
    }
    const claim = await read("sandboxclaims.v1beta1.extensions.agents.x-k8s.io", "converted");
    expect(claim.spec).toEqual({ warmPoolRef: { name: "shadow-pool-python" } });
  });
});

describe("schemas", () => {
  test("set defaults", async () => {
    await create(sandbox("defaults", { podTemplate }));
    await create(extension("SandboxWarmPool", "defaults", { sandboxTemplateRef: { name: "python" } }));
    expect((await read(beta, "defaults")).spec).toEqual({
      podTemplate,
      operatingMode: "Running",
      shutdownPolicy: "Retain",
    });
    expect((await read("sandboxwarmpools", "defaults")).spec).toEqual({
      replicas: 1,
      sandboxTemplateRef: { name: "python" },
    });
  });

  test.for([
    ["no Pod template", sandbox("bad", {}), "spec.podTemplate: Required value"],
    [
      "no container's name",
      sandbox("bad", { podTemplate: { spec: { containers: [{}] } } }),
      "containers[0].name: Required value",
    ],
    ["an unknown mode", sandbox("bad", { podTemplate, operatingMode: "Asleep" }), 'Unsupported value: "Asleep"'],
    ["a field that does not exist", sandbox("bad", { podTemplate, mode: 1 }), 'unknown field "spec.mode"'],
    ["an invalid time", sandbox("bad", { podTemplate, shutdownTime: "noon" }), "spec.shutdownTime: Invalid value"],
    ["two replicas in v1alpha1", sandbox("bad", { podTemplate, replicas: 2 }, "v1alpha1"), "less than or equal to 1"],
    [
      "a negative pool",
      extension("SandboxWarmPool", "bad", { replicas: -1, sandboxTemplateRef: { name: "a" } }),
      "greater than or equal to 0",
    ],
    ["a claim without a template or pool", extension("SandboxClaim", "bad", {}), "spec.warmPoolRef: Required value"],
  ] as const)("refuse %s", async ([, object, reason]) => {
    const { code, stderr } = await kubernetes.kubectl(["create", "-f", "-"], { stdin: JSON.stringify(object) });
    expect(code).toBe(1);
    expect(stderr).toContain(reason);
  });

  test("make only volumeClaimTemplates immutable", async () => {
    await create(sandbox("with-volume", { podTemplate, volumeClaimTemplates }));
    await create(sandbox("without-volume", { podTemplate }));
    const patch = (name: string, spec: object) =>
      run("patch", beta, name, "--type=merge", "-p", JSON.stringify({ spec }));
    const smaller = [{ ...volumeClaimTemplates[0], metadata: { name: "other" } }];
    for (const [name, change] of [
      ["with-volume", smaller],
      ["with-volume", null],
      ["without-volume", volumeClaimTemplates],
    ] as const) {
      const { code, stderr } = await patch(name, { volumeClaimTemplates: change });
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("volumeClaimTemplates is immutable"),
      });
    }
    expect(await patch("with-volume", { volumeClaimTemplates, service: true })).toMatchObject({ code: 0 });
  });
});

describe("subresources and columns", () => {
  test("status is written separately from spec and shown in the columns", async () => {
    await create(sandbox("shown", { podTemplate }));
    const ready = {
      type: "Ready",
      status: "True",
      reason: "DependenciesReady",
      message: "",
      lastTransitionTime: "2026-01-02T03:04:05Z",
    };
    const both = JSON.stringify({ spec: { service: true }, status: { conditions: [ready] } });
    await must(["patch", beta, "shown", "--subresource=status", "--type=merge", "-p", both]);
    const { spec, metadata } = await read(beta, "shown");
    expect([spec["service"], metadata.generation]).toEqual([undefined, 1]);
    const table = await must(["get", "sandbox", "shown"]);
    expect(table.split("\n").map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ["NAME", "READY", "REASON"],
      ["shown", "True", "DependenciesReady"],
      [""],
    ]);
  });

  test.for([
    ["sandboxes", "NAME READY REASON AGE"],
    ["sandboxclaims", "NAME READY SANDBOX REASON AGE"],
    ["sandboxtemplates", "NAME AGE"],
    ["sandboxwarmpools", "NAME READY DESIRED AGE"],
  ] as const)("%s have their columns", async ([resource, columns]) => {
    const specs = {
      sandboxes: sandbox("column", { podTemplate }),
      sandboxclaims: extension("SandboxClaim", "column", { warmPoolRef: { name: "pool" } }),
      sandboxtemplates: extension("SandboxTemplate", "column", { podTemplate }),
      sandboxwarmpools: extension("SandboxWarmPool", "column", { sandboxTemplateRef: { name: "python" } }),
    };
    await create(specs[resource]);
    const [head = ""] = (await must(["get", resource, "column"])).split("\n");
    expect(head.trim().split(/ +/).join(" ")).toBe(columns);
  });

  test("a pool can be scaled", async () => {
    await create(extension("SandboxWarmPool", "pool", { sandboxTemplateRef: { name: "python" } }));
    await must(["scale", "sandboxwarmpool", "pool", "--replicas=3"]);
    const path = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxwarmpools/pool/scale";
    expect(JSON.parse(await must(["get", "--raw", path]))).toMatchObject({ kind: "Scale", spec: { replicas: 3 } });
    expect((await read("sandboxwarmpools", "pool")).spec["replicas"]).toBe(3);
  });
});
