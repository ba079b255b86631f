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
  test("9.7 #94 makes the default policy and labels the template, and then rests", () => {
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

  test("9.7 #95 takes custom rules as they are, with its own selector; a direction without rules is closed", () => {
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
    ["none is made", undefined, []],
    ["an owned one is deleted", policyOf(), [{ do: "delete-policy", policy: policyOf() }]],
    ["a stranger's survives", policyOf({ metadata: { name: "test-template-network-policy" } }), []],
  ] as const)("9.7 #96 Unmanaged: %s", ([, policy, actions]) => {
    const unmanaged = templateOf({ networkPolicyManagement: "Unmanaged" }, labelled);
    expect(decide(seen({ template: unmanaged, policy }))).toEqual({ actions });
  });

  test("9.7 #97 leaves a stranger's policy alone and says what to do", () => {
    const policy = policyOf({ metadata: { name: "test-template-network-policy", namespace: "default" } });
    const { actions, error } = decide(seen({ policy }));
    expect(actions).toEqual([]);
    expect(error).toBeInstanceOf(TerminalError);
    expect(error?.message).toMatch(/"default\/test-template-network-policy".*does not control it; delete it/);
  });

  test("9.7 #98 ignores rules when Unmanaged", () => {
    const spec = { networkPolicyManagement: "Unmanaged", networkPolicy: { ingress: [{}] } } as const;
    expect(decide(seen({ template: templateOf({ ...spec, networkPolicy: { ingress: [{}] } }, labelled) }))).toEqual({
      actions: [],
    });
  });

  test("leaves a template that is being deleted to the garbage collector", () => {
    expect(decide(seen({ template: templateOf({}, { deletionTimestamp: "2026-03-01T10:00:00Z" }) }))).toEqual({
      actions: [],
    });
  });

  test("lets in a router that runs elsewhere (10.2.12)", () => {
    const elsewhere = { namespace: "platform", labels: { app: "router" } };
    const { actions } = decide(seen({ policy: policyOf(), router: elsewhere }));
    expect(actions).toMatchObject([{ do: "change-policy", change: { spec: desiredSpec(template, elsewhere) } }]);
  });
});

describe("decide() for a template that is gone (10.2.8)", () => {
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
    ["keeps the policy of Sandboxes that remain", { policy: owned }, [{ do: "change-policy", policy: owned, change }]],
    ["makes it again when it went with the template", { lostPolicy: owned }, [{ do: "create-policy", policy: copy }]],
    ["lets it go when none remain", { policy: owned, sandboxes: 0 }, []],
    ["does not bring it back when none remain", { lostPolicy: owned, sandboxes: 0 }, []],
    ["leaves a kept one while some remain", { policy: kept }, []],
    ["deletes a kept one with the last", { policy: kept, sandboxes: 0 }, [{ do: "delete-policy", policy: kept }]],
    ["leaves a stranger's alone", { policy: foreign, sandboxes: 0 }, []],
    ["leaves alone what another group's template of that name controls", { policy: namesakes }, []],
    [
      "leaves alone what somebody else controls, whatever its labels say",
      { policy: labelledStranger, sandboxes: 0 },
      [],
    ],
    ["does nothing when nothing is known", {}, []],
  ] as const)("%s", ([, over, actions]) => {
    expect(decide(seen({ template: undefined, sandboxes: 1, ...over }))).toEqual({ actions });
  });

  test("a template that comes back takes a kept policy over", () => {
    const ownerReferences = [controllerReference(sandboxTemplates, template)];
    expect(decide(seen({ policy: kept }))).toEqual({
      actions: [{ do: "change-policy", policy: kept, change: { metadata: { ownerReferences } } }],
    });
  });
});

describe("policyNameOf()", () => {
  test("stays a name for the longest template, and another for another", () => {
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
      "DNS as chosen",
      podSpecOf({}, { dnsPolicy: "ClusterFirst" }),
      { automountServiceAccountToken: false, dnsPolicy: "ClusterFirst" },
    ],
    [
      "DNS as it is under rules of one's own",
      podSpecOf({ networkPolicy: {} }),
      { automountServiceAccountToken: false },
    ],
    [
      "DNS as it is when Unmanaged",
      podSpecOf({ networkPolicyManagement: "Unmanaged" }),
      { automountServiceAccountToken: false },
    ],
    [
      "the author's name servers and search list (10.2.13)",
      podSpecOf({}, { dnsConfig: { nameservers: ["9.9.9.9"], searches: ["corp"] } }),
      {
        automountServiceAccountToken: false,
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["9.9.9.9"], searches: ["corp"] },
      },
    ],
    [
      "the author's search list with public servers (10.2.13)",
      podSpecOf({}, { dnsConfig: { searches: ["corp"] } }),
      {
        automountServiceAccountToken: false,
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"], searches: ["corp"] },
      },
    ],
  ] as const)("gives %s", ([, spec, expected]) => {
    expect(spec).toEqual({ containers, ...expected });
  });
});
