import { controllerReference, type NetworkPolicy, nameHash, sandboxTemplates } from "@agent-sandbox/api";
import { TerminalError } from "@agent-sandbox/kube";
import { describe, expect, test } from "vitest";
import { templateOf } from "../extensions.test.support.ts";
import { decide } from "./decide.ts";
import { defaultRouterPlace, desiredSpec } from "./desired-policy.ts";
import { policyNameOf } from "./network-policies.ts";
import type { Observed } from "./observe.ts";
import { withSecureDefaults } from "./secure-defaults.ts";

const hash = nameHash("test-template");
const labelled = { labels: { "agents.x-k8s.io/sandbox-template-ref-hash": hash } };
const template = templateOf({}, labelled);
const router = defaultRouterPlace;

function policyOf(over: Partial<NetworkPolicy> = {}, of = template): NetworkPolicy {
  const metadata = { name: "test-template-network-policy", namespace: "default", uid: "policy-uid" };
  const ownerReferences = [controllerReference(sandboxTemplates, of)];
  return { metadata: { ...metadata, ownerReferences }, spec: desiredSpec(of, router), ...over };
}

const seen = (over: Partial<Observed> = {}): Observed => ({
  templateName: "test-template",
  template,
  policy: undefined,
  lostPolicy: undefined,
  sandboxes: 0,
  router,
  isCacheBehind: false,
  ...over,
});

describe("decide()", () => {
  test("creates the default policy and labels the template, once (TEMPLATE-1)", () => {
    const fresh = templateOf();
    const { actions } = decide(seen({ template: fresh }));
    expect(actions).toEqual([
      { do: "label-template", template: fresh, hash },
      {
        do: "create-policy",
        policy: {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: {
            name: "test-template-network-policy",
            namespace: "default",
            ownerReferences: [controllerReference(sandboxTemplates, fresh)],
          },
          spec: {
            podSelector: { matchLabels: { "agents.x-k8s.io/sandbox-template-ref-hash": hash } },
            policyTypes: ["Ingress", "Egress"],
            ingress: [
              {
                from: [
                  {
                    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
                    podSelector: { matchLabels: { app: "sandbox-router" } },
                  },
                ],
              },
            ],
            egress: [
              {
                to: [
                  {
                    ipBlock: {
                      cidr: "0.0.0.0/0",
                      except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"],
                    },
                  },
                  { ipBlock: { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] } },
                ],
              },
            ],
          },
        },
      },
    ]);
    expect(decide(seen({ policy: policyOf() }))).toEqual({ actions: [] });
  });

  test("uses custom rules with its own selector and closes a direction without rules (TEMPLATE-2)", () => {
    const ingress = [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }];
    const custom = templateOf({ networkPolicy: { ingress } }, labelled);
    const stored = [{ from: [{ podSelector: {} }], ports: [{ port: 80, protocol: "TCP" }] }];
    const spec = { ...desiredSpec(template, router), ingress: stored, egress: [] };
    expect(decide(seen({ template: custom, policy: policyOf() }))).toEqual({
      actions: [{ do: "change-policy", policy: policyOf(), change: { spec } }],
    });
    expect(decide(seen({ template: custom, policy: policyOf({ spec }) }))).toEqual({ actions: [] });
  });

  test.for([
    ["creates none", undefined, []],
    ["deletes an owned one", policyOf(), [{ do: "delete-policy", policy: policyOf() }]],
    ["keeps one it does not own", policyOf({ metadata: { name: "test-template-network-policy" } }), []],
  ] as const)("with Unmanaged policies %s (TEMPLATE-4)", ([, policy, actions]) => {
    const unmanaged = templateOf({ networkPolicyManagement: "Unmanaged" }, labelled);
    expect(decide(seen({ template: unmanaged, policy }))).toEqual({ actions });
  });

  test("leaves a policy it does not own alone and reports what to do (TEMPLATE-5)", () => {
    const policy = policyOf({ metadata: { name: "test-template-network-policy", namespace: "default" } });
    const { actions, error } = decide(seen({ policy }));
    expect(actions).toEqual([]);
    expect(error).toBeInstanceOf(TerminalError);
    expect(error?.message).toMatch(/"default\/test-template-network-policy".*does not control it; delete it/);
  });

  test("ignores rules with Unmanaged policies (TEMPLATE-6)", () => {
    const spec = { networkPolicyManagement: "Unmanaged", networkPolicy: { ingress: [{}] } } as const;
    expect(decide(seen({ template: templateOf({ ...spec, networkPolicy: { ingress: [{}] } }, labelled) }))).toEqual({
      actions: [],
    });
  });

  test("leaves a template that is being deleted to the garbage collector (TEMPLATE-11)", () => {
    expect(decide(seen({ template: templateOf({}, { deletionTimestamp: "2026-03-01T10:00:00Z" }) }))).toEqual({
      actions: [],
    });
  });

  test("admits a router in another namespace (TEMPLATE-8)", () => {
    const elsewhere = { namespace: "platform", labels: { app: "router" } };
    const { actions } = decide(seen({ policy: policyOf(), router: elsewhere }));
    expect(actions).toMatchObject([{ do: "change-policy", change: { spec: desiredSpec(template, elsewhere) } }]);
  });
});

describe("decide() for a template that is gone", () => {
  const keptLabels = { "agents.x-k8s.io/sandbox-template-ref-hash": hash };
  const owned = policyOf();
  const kept = policyOf({
    metadata: { name: "test-template-network-policy", namespace: "default", labels: keptLabels },
  });
  const foreign = policyOf({ metadata: { name: "test-template-network-policy", namespace: "default" } });
  const namesakes = policyOf({
    metadata: {
      ...owned.metadata,
      ownerReferences: [{ ...controllerReference(sandboxTemplates, template), apiVersion: "other.io/v1" }],
    },
  });
  const labelledStranger = policyOf({ metadata: { ...namesakes.metadata, labels: keptLabels } });
  const change = { metadata: { ownerReferences: [], labels: keptLabels } };
  const copy = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", ...kept };

  test.for([
    ["keeps the policy while Sandboxes remain", { policy: owned }, [{ do: "change-policy", policy: owned, change }]],
    [
      "creates it again when it was deleted with the template",
      { lostPolicy: owned },
      [{ do: "create-policy", policy: copy }],
    ],
    ["leaves it to garbage collection when none remain", { policy: owned, sandboxes: 0 }, []],
    ["does not create it again when none remain", { lostPolicy: owned, sandboxes: 0 }, []],
    ["leaves a kept policy alone while some remain", { policy: kept }, []],
    [
      "deletes a kept policy with the last Sandbox",
      { policy: kept, sandboxes: 0 },
      [{ do: "delete-policy", policy: kept }],
    ],
    ["leaves a policy it does not own alone", { policy: foreign, sandboxes: 0 }, []],
    ["leaves alone a policy of a template of another API group", { policy: namesakes }, []],
    [
      "leaves alone a policy of another controller, whatever its labels are",
      { policy: labelledStranger, sandboxes: 0 },
      [],
    ],
    ["does nothing without a policy", {}, []],
  ] as const)("%s (TEMPLATE-7)", ([, over, actions]) => {
    expect(decide(seen({ template: undefined, sandboxes: 1, ...over }))).toEqual({ actions });
  });

  test("gives a kept policy to a template that is created again (TEMPLATE-12)", () => {
    const ownerReferences = [controllerReference(sandboxTemplates, template)];
    expect(decide(seen({ policy: kept }))).toEqual({
      actions: [{ do: "change-policy", policy: kept, change: { metadata: { ownerReferences } } }],
    });
  });
});

describe("policyNameOf()", () => {
  test("returns valid and distinct names for the longest template names", () => {
    const [one, two] = ["a", "b"].map((end) => policyNameOf(`${"x".repeat(252)}${end}`));
    expect([one?.length, two?.length, one === two]).toEqual([253, 253, false]);
  });
});

describe("withSecureDefaults()", () => {
  const containers = [{ name: "c", image: "host" }];
  const podSpecOf = (spec: Parameters<typeof templateOf>[0] = {}, pod: object = {}) =>
    withSecureDefaults(templateOf({ podTemplate: { spec: { containers, ...pod } }, ...spec }));
  const publicDns = { dnsPolicy: "None", dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] } };

  test.for([
    ["no token and public DNS", podSpecOf(), { automountServiceAccountToken: false, ...publicDns }],
    [
      "a token when asked for",
      podSpecOf({}, { automountServiceAccountToken: true }),
      { automountServiceAccountToken: true, ...publicDns },
    ],
    [
      "the template's DNS policy",
      podSpecOf({}, { dnsPolicy: "ClusterFirst" }),
      { automountServiceAccountToken: false, dnsPolicy: "ClusterFirst" },
    ],
    ["unchanged DNS with custom rules", podSpecOf({ networkPolicy: {} }), { automountServiceAccountToken: false }],
    [
      "unchanged DNS with Unmanaged policies",
      podSpecOf({ networkPolicyManagement: "Unmanaged" }),
      { automountServiceAccountToken: false },
    ],
    [
      "the template's name servers and search list",
      podSpecOf({}, { dnsConfig: { nameservers: ["9.9.9.9"], searches: ["corp"] } }),
      {
        automountServiceAccountToken: false,
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["9.9.9.9"], searches: ["corp"] },
      },
    ],
    [
      "the template's search list with public name servers",
      podSpecOf({}, { dnsConfig: { searches: ["corp"] } }),
      {
        automountServiceAccountToken: false,
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"], searches: ["corp"] },
      },
    ],
  ] as const)("gives %s (TEMPLATE-9, TEMPLATE-10)", ([, spec, expected]) => {
    expect(spec).toEqual({ containers, ...expected });
  });
});
