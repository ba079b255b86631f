import type { NetworkPolicy } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { asksForAccount, reachesApiServer } from "./api-access.ts";
import { enforceRules } from "./enforce-rules.ts";
import { type FirewallContent, type FirewallPlace, firewall } from "./firewall.ts";
import { answerFor } from "./name-access.ts";
import { policiesOf } from "./policy.ts";
import { type ServingPod, serviceAddressesOf } from "./services.ts";

type Egress = NonNullable<NonNullable<NetworkPolicy["spec"]>["egress"]>;

const client: ServingPod = {
  namespace: "a",
  name: "agent",
  labels: {},
  address: "10.200.0.2",
  ports: new Map(),
  ready: true,
  hostname: "agent",
  subdomain: "",
  asksForAccount: true,
};

function policyOf(pod: ServingPod, egress: Egress | undefined) {
  const spec = { podSelector: {}, policyTypes: ["Egress"], ...(egress && { egress }) };
  const policies = egress === undefined ? [] : [{ metadata: { namespace: "a", name: "p" }, spec }];
  const [policy] = policiesOf({ pods: [pod], policies, namespaces: new Map() }).policies;
  if (policy === undefined) throw new Error("the Pod has no policy");
  return policy;
}

const toApi = [{ ipBlock: { cidr: "10.96.0.1/32" } }];

describe("a Pod reaches the API server", () => {
  test.for<[what: string, egress: Egress | undefined, expected: boolean]>([
    ["without a policy", undefined, false],
    ["with a policy that allows nothing", [], false],
    ["with its address", [{ to: toApi }], true],
    ["with its address and port", [{ to: toApi, ports: [{ port: 443 }] }], true],
    ["with its address and another port", [{ to: toApi, ports: [{ port: 80 }] }], false],
    ["with its address and another protocol", [{ to: toApi, ports: [{ protocol: "UDP", port: 443 }] }], false],
    ["with a range of ports", [{ to: toApi, ports: [{ port: 400, endPort: 500 }] }], true],
    ["with everything", [{}], true],
    ["with the public network", [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }] }], false],
    ["with Pods", [{ to: [{ podSelector: {} }] }], false],
    [
      "with a block that is not understood",
      [{ to: [{ ipBlock: { cidr: "10.96.0.1" } }, { ipBlock: { cidr: "x" } }] }],
      true,
    ],
  ])("%s: %s", ([, egress, expected]) => {
    expect(reachesApiServer(policyOf(client, egress))).toBe(expected);
    const { asksForAccount: _asks, ...silent } = client;
    expect(reachesApiServer(policyOf(silent, egress))).toBe(false);
  });

  test("only if it asks for its service account itself", () => {
    const spec = { containers: [] };
    expect(asksForAccount({ spec: { ...spec, automountServiceAccountToken: true } })).toBe(true);
    for (const automountServiceAccountToken of [false, undefined, "true"]) {
      expect(asksForAccount({ spec: { ...spec, automountServiceAccountToken } } as never)).toBe(false);
    }
  });
});

const place: FirewallPlace = {
  table: "t",
  bridge: "b",
  subnet: "10.200.0.0/20",
  gateway: "10.200.0.1",
  linkPrefix: "l",
  linkOf: () => "l1",
  hardwareOf: () => "02:00:00:00:00:01",
};

describe("the firewall", () => {
  const content = (egress: Egress | undefined, apiPort?: number): FirewallContent => ({
    policies: [policyOf(client, egress)],
    serviceAddresses: [],
    routed: [],
    apiPort,
  });

  test("opens the gateway for Pods that may reach the API server, and for no others", () => {
    const open = firewall(place, content([{ to: toApi }], 40_001));
    expect(open).toContain("set api_clients { type ipv4_addr; elements = { 10.200.0.2 }; }");
    expect(open).toContain("ip saddr @api_clients ip daddr 10.200.0.1 tcp dport 40001 accept");
    expect(open).toContain("ip saddr @api_clients ip daddr 10.96.0.1 tcp dport 443 dnat ip to 10.200.0.1:40001");
    expect(firewall(place, content(undefined, 40_001))).toContain("set api_clients { type ipv4_addr;  }");
    expect(firewall(place, content([{ to: toApi }]))).not.toContain("dport 443");
  });

  test("closes it for a namespace whose rules nft refuses", async () => {
    const enforced: FirewallContent[] = [];
    await enforceRules(content([{ to: toApi }], 40_001), {
      enforce: async (tried) => {
        if (enforced.push(tried) === 1) throw new Error("refused");
      },
      accepts: async (tried) => tried.policies.every(({ egress }) => egress?.length === 0),
    });
    expect(enforced.at(-1)?.policies.map(reachesApiServer)).toEqual([false]);
  });
});

test("the name of the API server exists only for Pods that may reach it", () => {
  const look = (egress: Egress | undefined, name = "kubernetes.default.svc.cluster.local") =>
    answerFor(client.address, name, {
      pods: [client],
      podsAt: new Map([[client.address, client]]),
      services: new Map(),
      policies: new Map([[client.address, policyOf(client, egress)]]),
      subnet: place.subnet,
    });
  expect(look([{ to: toApi }])).toEqual({ addresses: ["10.96.0.1"] });
  expect(look([{ to: toApi }], "Kubernetes.Default.svc.cluster.local.")).toEqual({ addresses: ["10.96.0.1"] });
  expect(look(undefined)).toEqual({ addresses: [] });
});

test("a Service that an earlier version gave the address of the API server gets no connections", () => {
  const service = { metadata: { namespace: "a", name: "s" }, spec: { clusterIP: "10.96.0.1", ports: [{ port: 443 }] } };
  const { serviceAddresses, problems } = serviceAddressesOf([service], [client], place.subnet);
  expect([serviceAddresses, problems.map(({ text }) => text)]).toEqual([
    [],
    ['The cluster IP "10.96.0.1" is the address of the API server: nothing is redirected'],
  ]);
});
