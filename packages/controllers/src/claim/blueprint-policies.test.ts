import type { Sandbox, SandboxClaimSpec, SandboxTemplateSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, memberNamed, readyStatus, templateOf } from "../extensions.test.support.ts";
import { actionsOf, besidesRecord, judge, readyOf, type Scene } from "./claim.test.support.ts";

function made(scene: Scene): Sandbox {
  const action = judge(scene).actions.find((each) => each.do === "create");
  if (action?.do !== "create") throw new Error("nothing was made");
  return action.sandbox;
}

describe("what a claim may add to its Pod", () => {
  const adding = (additionalPodMetadata: SandboxClaimSpec["additionalPodMetadata"] = {}) =>
    claimOf({ additionalPodMetadata });
  const long = "x".repeat(64);

  test.for([
    ["a label without domain", { labels: { plain: "x" } }],
    ["a value of 64 characters", { labels: { "sandbox.users.io/a": long } }],
    ["a value with an invalid character", { labels: { "sandbox.users.io/a": "invalid@value" } }],
    ["a key with an invalid character", { labels: { "sandbox.users.io/bad@key": "x" } }],
    ["a key of 64 characters", { labels: { [`sandbox.users.io/${long}`]: "x" } }],
    ["a domain of 254 characters", { labels: { [`${"a.".repeat(120)}sandbox.users.io/x`]: "x" } }],
    ["a label of kubernetes.io", { labels: { "kubernetes.io/x": "x" } }],
    ["a label whose domain only ends like an allowed one", { labels: { "evilsandbox.users.io/x": "x" } }],
    ["a reserved label", { labels: { "agents.x-k8s.io/claim-uid": "x" } }],
    ["the router's label", { labels: { app: "sandbox-router" } }],
    ["the router's label in capitals", { labels: { App: "SANDBOX-ROUTER" } }],
    ["an invalid annotation key", { annotations: { "bad key": "x" } }],
    ["an empty key", { annotations: { "": "x" } }],
    ["a reserved annotation in capitals", { annotations: { "AGENTS.X-K8S.IO/pod-name": "x" } }],
  ] as const)("rejects %s, also without pool and template (CUSTOM-1)", ([, metadata]) => {
    const claim = adding(metadata);
    for (const scene of [{ claim }, { claim, pools: [], templates: [] }, { claim, sandboxes: [memberNamed("a")] }]) {
      const decision = judge(scene);
      expect([decision.actions, readyOf(decision)?.reason]).toEqual([[], "InvalidMetadata"]);
    }
  });

  test("reports invalid metadata of a bound claim with an event and keeps it Ready (CUSTOM-2)", () => {
    const claim = adding({ labels: { plain: "x" } });
    const decision = judge({ claim, sandboxes: [boundTo(claim)] });
    expect([besidesRecord(decision), readyOf(decision)?.status]).toEqual([[], "True"]);
    expect(decision.events).toMatchObject([{ type: "Warning", reason: "InvalidMetadata" }]);
  });

  test("accepts labels of allowed domains and annotations without a domain (CUSTOM-3)", () => {
    const claim = adding({ labels: { "team.sandbox.users.io/x": "1" }, annotations: { note: "any value at all" } });
    const { metadata } = made({ claim }).spec.podTemplate;
    expect([metadata?.labels?.["team.sandbox.users.io/x"], metadata?.annotations]).toEqual([
      "1",
      { note: "any value at all" },
    ]);
    const configured = adding({ labels: { "corp.example/x": "" } });
    expect(actionsOf(judge({ claim: configured, labelDomains: ["corp.example"] }))).toEqual(["create my-claim"]);
    expect(readyOf(judge({ claim, labelDomains: ["corp.example"] }))?.reason).toBe("InvalidMetadata");
  });

  test("updates the Sandbox when metadata is added to a bound claim (CUSTOM-4)", () => {
    const claim = adding({ labels: { "sandbox.users.io/x": "1" } });
    expect(judge({ claim, sandboxes: [boundTo(claim)] }).actions).toMatchObject([
      {
        do: "change-sandbox",
        change: { spec: { podTemplate: { metadata: { labels: { "sandbox.users.io/x": "1" } } } } },
      },
    ]);
  });

  test("accepts only safe-to-evict of the reserved domains (CUSTOM-5)", () => {
    const evict = { annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" } };
    expect(actionsOf(judge({ claim: adding(evict) }))).toEqual(["create my-claim"]);
    const other = { annotations: { "cluster-autoscaler.kubernetes.io/other": "x" } };
    expect(readyOf(judge({ claim: adding(other) }))?.reason).toBe("InvalidMetadata");
  });

  const labelled = templateOf({
    podTemplate: { ...templateOf().spec.podTemplate, metadata: { labels: { "sandbox.users.io/x": "template" } } },
  });
  test("accepts a repeated value of the template and rejects another value, without retries (CUSTOM-6)", () => {
    const contradicts = adding({ labels: { "sandbox.users.io/x": "claim" } });
    for (const sandboxes of [[], [memberNamed("a", { template: labelled })]]) {
      const decision = judge({ claim: contradicts, templates: [labelled], sandboxes });
      // The metadata is checked before anything is written.
      expect([decision.actions, readyOf(decision)]).toEqual([
        [],
        {
          status: "False",
          reason: "ReconcilerError",
          message: 'Error seen: Cannot add label "sandbox.users.io/x": the template sets it to "template"',
        },
      ]);
    }
    const repeats = adding({ labels: { "sandbox.users.io/x": "template" } });
    expect(actionsOf(judge({ claim: repeats, templates: [labelled] }))).toEqual(["create my-claim"]);
  });

  test("copies the trace context of the claim to a new or adopted Sandbox (OBSERVE-1)", () => {
    const claim = claimOf({}, { annotations: { "opentelemetry.io/trace-context": '{"traceparent":"00"}' } });
    expect(made({ claim }).metadata.annotations).toMatchObject(claim.metadata.annotations ?? {});
    expect(judge({ claim, sandboxes: [memberNamed("a")] }).actions).toMatchObject([
      { do: "adopt", change: { metadata: { annotations: claim.metadata.annotations } } },
    ]);
  });
});

describe("environment variables of a claim", () => {
  const containers = [
    { name: "app", image: "host", env: [{ name: "OLD", valueFrom: { fieldRef: { fieldPath: "x" } } }] },
    { name: "sidecar", image: "host", envFrom: [{ secretRef: { name: "s" } }] },
  ];
  const initContainers = [{ name: "init", image: "host", envFrom: [{ secretRef: { name: "s" } }] }];
  const from = (policy?: SandboxTemplateSpec["envVarsInjectionPolicy"], plain = false) =>
    templateOf({
      podTemplate: {
        spec: plain
          ? {
              containers: containers.map(({ name, image }) => ({ name, image })),
              initContainers: [{ name: "init", image: "host" }],
            }
          : { containers, initContainers },
      },
      ...(policy && { envVarsInjectionPolicy: policy }),
    });
  const env = (name: string, containerName?: string) => [{ name, value: "1", ...(containerName && { containerName }) }];
  const reasonOf = (variables: ReturnType<typeof env>, template: ReturnType<typeof from>) =>
    readyOf(judge({ claim: claimOf({ env: variables }), templates: [template] }))?.reason;

  test.for([undefined, "Disallowed"] as const)("rejects all variables with policy %s (CUSTOM-7)", (policy) => {
    const decision = judge({ claim: claimOf({ env: env("NEW") }), templates: [from(policy)] });
    expect([decision.actions, readyOf(decision)?.reason]).toEqual([[], "EnvVarsInjectionRejected"]);
  });

  test("appends new variables with Allowed and replaces existing ones with Overrides (CUSTOM-8)", () => {
    const added = { name: "NEW", value: "1" };
    const podOf = (variables: ReturnType<typeof env>, policy: "Allowed" | "Overrides") =>
      made({ claim: claimOf({ env: variables }), templates: [from(policy)] }).spec.podTemplate.spec.containers[0]?.env;
    expect(podOf(env("NEW"), "Allowed")).toEqual([containers[0]?.env?.[0], added]);
    expect(reasonOf(env("OLD"), from("Allowed"))).toBe("ReconcilerError");
    expect(podOf([...env("NEW"), ...env("OLD")], "Overrides")).toEqual([{ name: "OLD", value: "1" }, added]);
  });

  test.for([
    ["rejects one for the sidecar", "sidecar", "EnvVarsInjectionRejected"],
    ["rejects one for the init container", "init", "EnvVarsInjectionRejected"],
    ["accepts one for a container without envFrom", "app", "SandboxMissing"],
  ] as const)("with Allowed and envFrom: %s (CUSTOM-9)", ([, container, reason]) => {
    expect(reasonOf(env("NEW", container), from("Allowed"))).toBe(reason);
  });

  test("accepts envFrom without variables, and with Overrides (CUSTOM-9)", () => {
    expect(actionsOf(judge({ templates: [from("Allowed")] }))).toEqual(["create my-claim"]);
    const claim = claimOf({ env: env("NEW", "sidecar") });
    expect(actionsOf(judge({ claim, templates: [from("Overrides")] }))).toEqual(["create my-claim"]);
  });

  test.for(["app", "sidecar", "init"])("adds a variable for %s to no other container (CUSTOM-10)", (target) => {
    const { spec } = made({ claim: claimOf({ env: env("NEW", target) }), templates: [from("Allowed", true)] }).spec
      .podTemplate;
    const all = [...(spec.initContainers ?? []), ...spec.containers];
    expect(all.filter((container) => container.env !== undefined).map(({ name }) => name)).toEqual([target]);
  });

  test("reports an unknown container (CUSTOM-10)", () => {
    expect(reasonOf(env("NEW", "nobody"), from("Allowed"))).toBe("ReconcilerError");
  });

  test("adds variables without a container to the first one, after those that name it (CUSTOM-10)", () => {
    const claim = claimOf({ env: [...env("A"), ...env("B", "app"), ...env("C")] });
    const [first] = made({ claim, templates: [from("Allowed", true)] }).spec.podTemplate.spec.containers;
    expect(first?.env?.map(({ name }) => name)).toEqual(["B", "A", "C"]);
  });
});

describe("volume claim templates of a claim", () => {
  const volume = (name: string | undefined, storage = "1Gi") => ({
    metadata: name === undefined ? {} : { name },
    spec: { resources: { requests: { storage } } },
  });
  const from = (policy?: SandboxTemplateSpec["volumeClaimTemplatesPolicy"], names: (string | undefined)[] = ["data"]) =>
    templateOf({
      volumeClaimTemplates: names.map((name) => volume(name)),
      ...(policy && { volumeClaimTemplatesPolicy: policy }),
    });
  const bringing = (...volumes: ReturnType<typeof volume>[]) => claimOf({ volumeClaimTemplates: volumes });
  const reasonOf = (scene: Scene) => readyOf(judge(scene))?.reason;
  const sizes = (scene: Scene) =>
    made(scene).spec.volumeClaimTemplates?.map((each) => [
      each.metadata?.name,
      each.spec.resources?.requests?.["storage"],
    ]);

  test.for([undefined, "Disallowed"] as const)(
    "rejects volumes with policy %s and serves other claims from the pool (CUSTOM-11)",
    (policy) => {
      expect(reasonOf({ claim: bringing(volume("more")), templates: [from(policy)] })).toBe(
        "VolumeClaimTemplatesError",
      );
      expect(actionsOf(judge({ templates: [from(policy)], sandboxes: [memberNamed("a")] }))).toEqual(["adopt a"]);
    },
  );

  test("appends new volumes with Allowed and replaces existing ones with Overrides (CUSTOM-12)", () => {
    expect(sizes({ claim: bringing(volume("more")), templates: [from("Allowed")] })).toEqual([
      ["data", "1Gi"],
      ["more", "1Gi"],
    ]);
    expect(reasonOf({ claim: bringing(volume("data")), templates: [from("Allowed")] })).toBe(
      "VolumeClaimTemplatesError",
    );
    expect(sizes({ claim: bringing(volume("more"), volume("data", "9Gi")), templates: [from("Overrides")] })).toEqual([
      ["data", "9Gi"],
      ["more", "1Gi"],
    ]);
  });

  test.for([
    ["a claim with a volume without name", { claim: bringing(volume(undefined)), templates: [from("Allowed")] }],
    [
      "a claim with the same volume twice",
      { claim: bringing(volume("a"), volume("a")), templates: [from("Overrides")] },
    ],
    ["a template with a volume without name", { templates: [from("Allowed", [undefined])] }],
    ["a template with the same volume twice", { templates: [from("Allowed", ["a", "a"])] }],
  ] as const)("rejects %s (CUSTOM-13)", ([, scene]) => {
    expect(reasonOf(scene)).toBe("VolumeClaimTemplatesError");
  });

  test("reports an unknown policy (CUSTOM-14)", () => {
    expect(reasonOf({ claim: bringing(volume("a")), templates: [from("Other" as never)] })).toBe("ReconcilerError");
  });
});

describe("a claim with a snapshot", () => {
  const restoreFrom = { snapshotRef: { name: "golden" } };
  const claim = claimOf({ restoreFrom });
  const golden = templateOf({ restoreFrom, suspendPolicy: { depth: "Memory" } });

  test("passes it to a new Sandbox, with the other policies of the template (STATE-26)", () => {
    const template = templateOf({
      restoreFrom: { snapshotRef: { name: "other" } },
      suspendPolicy: { depth: "Memory" },
    });
    const { spec } = made({ claim, templates: [template] });
    expect([spec.restoreFrom, spec.suspendPolicy]).toEqual([restoreFrom, { depth: "Memory" }]);
    expect(made({ claim: claimOf(), templates: [golden] }).spec.restoreFrom).toEqual(restoreFrom);
  });

  test("takes a pool member only if the pool's template names the same snapshot (STATE-26)", () => {
    expect(actionsOf(judge({ claim, sandboxes: [memberNamed("a")] }))).toEqual(["create my-claim"]);
    const member = memberNamed("a", { template: golden });
    expect(actionsOf(judge({ claim, templates: [golden], sandboxes: [member] }))).toEqual(["adopt a"]);
    expect(actionsOf(judge({ claim: claimOf(), templates: [golden], sandboxes: [member] }))).toEqual(["adopt a"]);
  });

  test("takes no member of an earlier snapshot of the same name (STATE-30)", () => {
    const restoredFrom = { name: "golden", uid: "old" };
    const member = memberNamed("a", { template: golden, status: { ...readyStatus, suspension: { restoredFrom } } });
    const scene = { claim, templates: [golden], sandboxes: [member] };
    expect(actionsOf(judge({ ...scene, snapshotUid: "old" }))).toEqual(["adopt a"]);
    expect(actionsOf(judge({ ...scene, snapshotUid: "new" }))).not.toContain("adopt a");
  });

  test("takes no member that was made before the template named the snapshot (STATE-26)", () => {
    const scene = { claim, templates: [golden], sandboxes: [memberNamed("a")] };
    expect(actionsOf(judge(scene))).not.toContain("adopt a");
  });
});
