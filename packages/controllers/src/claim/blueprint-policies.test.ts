import type { Sandbox, SandboxClaimSpec, SandboxTemplateSpec } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { boundTo, claimOf, memberNamed, templateOf } from "../extensions.test.support.ts";
import { deeds, judge, readyOf, type Scene } from "./claim.test.support.ts";

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
    ["a value with a sign", { labels: { "sandbox.users.io/a": "invalid@value" } }],
    ["a key with a sign", { labels: { "sandbox.users.io/bad@key": "x" } }],
    ["a key of 64 characters", { labels: { [`sandbox.users.io/${long}`]: "x" } }],
    ["a domain of 254 characters", { labels: { [`${"a.".repeat(120)}sandbox.users.io/x`]: "x" } }],
    ["a label of Kubernetes", { labels: { "kubernetes.io/x": "x" } }],
    ["a label that only ends like an open domain", { labels: { "evilsandbox.users.io/x": "x" } }],
    ["the system's own label", { labels: { "agents.x-k8s.io/claim-uid": "x" } }],
    ["the router's label", { labels: { app: "sandbox-router" } }],
    ["the router's label in capitals", { labels: { App: "SANDBOX-ROUTER" } }],
    ["an annotation that is no name", { annotations: { "bad key": "x" } }],
    ["an empty key", { annotations: { "": "x" } }],
    ["the system's own annotation in capitals", { annotations: { "AGENTS.X-K8S.IO/pod-name": "x" } }],
  ] as const)("9.13 #184 refuses %s, also when pool and template are missing", ([, metadata]) => {
    const claim = adding(metadata);
    for (const scene of [{ claim }, { claim, pools: [], templates: [] }, { claim, sandboxes: [memberNamed("a")] }]) {
      const decision = judge(scene);
      expect([decision.actions, readyOf(decision)?.reason]).toEqual([[], "InvalidMetadata"]);
    }
  });

  test("9.13 #184 a claim that has its Sandbox stays Ready, and is told by an event (10.3.21)", () => {
    const claim = adding({ labels: { plain: "x" } });
    const decision = judge({ claim, sandboxes: [boundTo(claim)] });
    expect([decision.actions, readyOf(decision)?.status]).toEqual([[], "True"]);
    expect(decision.notes).toMatchObject([{ type: "Warning", reason: "InvalidMetadata" }]);
  });

  test("9.13 #185 takes a label of an open domain and an annotation without domain", () => {
    const claim = adding({ labels: { "team.sandbox.users.io/x": "1" }, annotations: { note: "any value at all" } });
    const { metadata } = made({ claim }).spec.podTemplate;
    expect([metadata?.labels?.["team.sandbox.users.io/x"], metadata?.annotations]).toEqual([
      "1",
      { note: "any value at all" },
    ]);
    const configured = adding({ labels: { "corp.example/x": "" } });
    expect(deeds(judge({ claim: configured, labelDomains: ["corp.example"] }))).toEqual(["create my-claim"]);
    expect(readyOf(judge({ claim, labelDomains: ["corp.example"] }))?.reason).toBe("InvalidMetadata");
  });

  test("9.13 #185 what the claim adds later reaches its Sandbox without a new one", () => {
    const claim = adding({ labels: { "sandbox.users.io/x": "1" } });
    expect(judge({ claim, sandboxes: [boundTo(claim)] }).actions).toMatchObject([
      {
        do: "change-sandbox",
        change: { spec: { podTemplate: { metadata: { labels: { "sandbox.users.io/x": "1" } } } } },
      },
    ]);
  });

  test("9.13 #186 of the closed domains only safe-to-evict may be set", () => {
    const evict = { annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" } };
    expect(deeds(judge({ claim: adding(evict) }))).toEqual(["create my-claim"]);
    const other = { annotations: { "cluster-autoscaler.kubernetes.io/other": "x" } };
    expect(readyOf(judge({ claim: adding(other) }))?.reason).toBe("InvalidMetadata");
  });

  const labelled = templateOf({
    podTemplate: { ...templateOf().spec.podTemplate, metadata: { labels: { "sandbox.users.io/x": "template" } } },
  });
  test("9.13 #187 may repeat what the template says but not contradict it, and rests when it does (10.2.16)", () => {
    const contradicts = adding({ labels: { "sandbox.users.io/x": "claim" } });
    for (const sandboxes of [[], [memberNamed("a", { template: labelled })]]) {
      const decision = judge({ claim: contradicts, templates: [labelled], sandboxes });
      // Nothing is committed before the two are known to go together (10.2.5).
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
    expect(deeds(judge({ claim: repeats, templates: [labelled] }))).toEqual(["create my-claim"]);
  });

  test("9.13 #195 the trace of the claim goes to the Sandbox, made or taken", () => {
    const claim = claimOf({}, { annotations: { "opentelemetry.io/trace-context": '{"traceparent":"00"}' } });
    expect(made({ claim }).metadata.annotations).toMatchObject(claim.metadata.annotations ?? {});
    expect(judge({ claim, sandboxes: [memberNamed("a")] }).actions).toMatchObject([
      { do: "adopt", change: { metadata: { annotations: claim.metadata.annotations } } },
    ]);
  });
});

describe("variables", () => {
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

  test.for([undefined, "Disallowed"] as const)("9.13 #188 policy %s refuses all", (policy) => {
    const decision = judge({ claim: claimOf({ env: env("NEW") }), templates: [from(policy)] });
    expect([decision.actions, readyOf(decision)?.reason]).toEqual([[], "EnvVarsInjectionRejected"]);
  });

  test("9.13 #189 Allowed adds a new name and refuses one that is there; Overrides replaces it in its place", () => {
    const added = { name: "NEW", value: "1" };
    const podOf = (variables: ReturnType<typeof env>, policy: "Allowed" | "Overrides") =>
      made({ claim: claimOf({ env: variables }), templates: [from(policy)] }).spec.podTemplate.spec.containers[0]?.env;
    expect(podOf(env("NEW"), "Allowed")).toEqual([containers[0]?.env?.[0], added]);
    expect(reasonOf(env("OLD"), from("Allowed"))).toBe("ReconcilerError");
    expect(podOf([...env("NEW"), ...env("OLD")], "Overrides")).toEqual([{ name: "OLD", value: "1" }, added]);
  });

  test.for([
    ["the sidecar's", "sidecar", "EnvVarsInjectionRejected"],
    ["the init container's", "init", "EnvVarsInjectionRejected"],
    ["nothing when another container is meant", "app", "SandboxMissing"],
  ] as const)("9.13 #190 Allowed cannot know what envFrom holds: %s", ([, container, reason]) => {
    expect(reasonOf(env("NEW", container), from("Allowed"))).toBe(reason);
  });

  test("9.13 #190 envFrom is no matter when the claim brings nothing, or may override", () => {
    expect(deeds(judge({ templates: [from("Allowed")] }))).toEqual(["create my-claim"]);
    const claim = claimOf({ env: env("NEW", "sidecar") });
    expect(deeds(judge({ claim, templates: [from("Overrides")] }))).toEqual(["create my-claim"]);
  });

  test.for(["app", "sidecar", "init"])("9.13 #191 a variable for %s goes nowhere else", (target) => {
    const { spec } = made({ claim: claimOf({ env: env("NEW", target) }), templates: [from("Allowed", true)] }).spec
      .podTemplate;
    const all = [...(spec.initContainers ?? []), ...spec.containers];
    expect(all.filter((container) => container.env !== undefined).map(({ name }) => name)).toEqual([target]);
  });

  test("9.13 #191 a container that is not there is an error", () => {
    expect(reasonOf(env("NEW", "nobody"), from("Allowed"))).toBe("ReconcilerError");
  });

  test("9.13 #191 variables without container go to the first one, after those that name it", () => {
    const claim = claimOf({ env: [...env("A"), ...env("B", "app"), ...env("C")] });
    const [first] = made({ claim, templates: [from("Allowed", true)] }).spec.podTemplate.spec.containers;
    expect(first?.env?.map(({ name }) => name)).toEqual(["B", "A", "C"]);
  });
});

describe("volumes", () => {
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
    "9.13 #192 policy %s refuses volumes, and lets others be served warm",
    (policy) => {
      expect(reasonOf({ claim: bringing(volume("more")), templates: [from(policy)] })).toBe(
        "VolumeClaimTemplatesError",
      );
      expect(deeds(judge({ templates: [from(policy)], sandboxes: [memberNamed("a")] }))).toEqual(["adopt a"]);
    },
  );

  test("9.13 #193 Allowed adds, and refuses a name that is there; Overrides replaces it in its place", () => {
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
    ["the claim has one without name", { claim: bringing(volume(undefined)), templates: [from("Allowed")] }],
    ["the claim has one twice", { claim: bringing(volume("a"), volume("a")), templates: [from("Overrides")] }],
    ["the template has one without name", { templates: [from("Allowed", [undefined])] }],
    ["the template has one twice", { templates: [from("Allowed", ["a", "a"])] }],
  ] as const)("9.13 #194 %s: VolumeClaimTemplatesError", ([, scene]) => {
    expect(reasonOf(scene)).toBe("VolumeClaimTemplatesError");
  });

  test("an unknown policy is an error", () => {
    expect(reasonOf({ claim: bringing(volume("a")), templates: [from("Other" as never)] })).toBe("ReconcilerError");
  });
});
