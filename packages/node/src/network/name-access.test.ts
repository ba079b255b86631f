import type { NetworkPolicy, Service } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { answerFor, type NameAccess, type NameAnswer } from "./name-access.ts";
import { policiesOf } from "./policy.ts";
import type { ServingPod } from "./services.ts";

const pod = (namespace: string, name: string, address: string): ServingPod => ({
  namespace,
  name,
  address,
  labels: { app: name },
  ports: new Map(),
  ready: true,
  hostname: name,
  subdomain: "",
});

const pods = [pod("a", "own", "10.200.0.2"), pod("a", "peer", "10.200.0.3"), pod("b", "web", "10.200.0.4")];

const service = (name: string, clusterIP: string, spec: object = {}): [string, Service] => [
  `b/${name}`,
  { metadata: { namespace: "b", name }, spec: { clusterIP, selector: { app: "web" }, ports: [{ port: 80 }], ...spec } },
];

const services = new Map([
  service("front", "10.96.0.7"),
  service("headless", "None"),
  service("alias", "", { type: "ExternalName", externalName: "own.a.svc.cluster.local" }),
  service("foreign", "198.51.100.7"),
]);

const policy = (namespace: string, spec: NonNullable<NetworkPolicy["spec"]>): NetworkPolicy => ({
  metadata: { namespace, name: "p" },
  spec,
});

function access(...policies: NetworkPolicy[]): NameAccess {
  const namespaces = new Map([
    ["a", { team: "red" }],
    ["b", { team: "blue" }],
  ]);
  const judged = policiesOf({ pods, policies, namespaces }).policies;
  return {
    pods,
    services,
    podsAt: new Map(pods.map((each) => [each.address, each])),
    policies: new Map(judged.map((each) => [each.address, each])),
    subnet: "10.200.0.0/20",
  };
}

const ask = (name: string, ...policies: NetworkPolicy[]): NameAnswer =>
  answerFor("10.200.0.2", name, access(...policies));

const nothingIn = policy("b", { podSelector: {} });
const guestsIn = policy("b", {
  podSelector: {},
  ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "red" } } }] }],
});
const nothingOut = policy("a", { podSelector: {}, policyTypes: ["Egress"] });
const out = (...blocks: { cidr: string; except?: string[] }[]): NetworkPolicy =>
  policy("a", { podSelector: {}, policyTypes: ["Egress"], egress: [{ to: blocks.map((ipBlock) => ({ ipBlock })) }] });

const web = "web.b.svc.cluster.local";
const nowhere = { addresses: [] };

describe("a name of another namespace", () => {
  test.for([
    ["does not exist without a policy that allows ingress from others", [], web, nowhere],
    ["does not exist: a Service", [], "front.b.svc.cluster.local", nowhere],
    ["does not exist: a headless Service", [], "headless.b.svc.cluster.local", nowhere],
    ["does not exist if a policy denies all ingress", [nothingIn], web, nowhere],
    ["resolves if a policy allows ingress from the Pod", [guestsIn], web, { addresses: ["10.200.0.4"] }],
    ["resolves: a Service", [guestsIn], "front.b.svc.cluster.local", { addresses: ["10.96.0.7"] }],
    ["resolves: a headless Service", [guestsIn], "headless.b.svc.cluster.local", { addresses: ["10.200.0.4"] }],
    ["does not exist for a Pod that may not send there", [guestsIn, nothingOut], web, nowhere],
    [
      "does not exist for a Pod that may only send elsewhere",
      [guestsIn, out({ cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] })],
      web,
      nowhere,
    ],
    ["looks the same as a name that does not exist", [guestsIn], "nobody.b.svc.cluster.local", nowhere],
    ["does not resolve to an external name", [guestsIn], "alias.b.svc.cluster.local", nowhere],
    ["does not resolve to an address outside the Service range", [guestsIn], "foreign.b.svc.cluster.local", nowhere],
  ] as const)("%s", ([, policies, name, expected]) => {
    expect(ask(name, ...policies)).toEqual(expected);
  });
});

test("a name in the Pod's own namespace resolves under any policy", () => {
  const closed = [nothingOut, policy("a", { podSelector: {} })];
  expect(ask("peer.a.svc.cluster.local", ...closed)).toEqual({ addresses: ["10.200.0.3"] });
});

describe("a name outside the cluster", () => {
  test.for([
    ["is forwarded without a policy", [], "ask-others"],
    ["is forwarded with a policy for ingress only", [policy("a", { podSelector: {} })], "ask-others"],
    ["is refused if no egress is allowed", [nothingOut], "refused"],
    ["is refused if egress is allowed only to Pods", [out({ cidr: "10.200.0.0/20" })], "refused"],
    [
      "is refused if egress is allowed only to Services",
      [out({ cidr: "10.96.0.0/16" }, { cidr: "169.254.169.254/32" })],
      "refused",
    ],
    [
      "is forwarded if egress to public addresses is allowed",
      [out({ cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] })],
      "ask-others",
    ],
    ["is forwarded if egress to one outside address is allowed", [out({ cidr: "198.51.100.7/32" })], "ask-others"],
  ] as const)("%s", ([, policies, expected]) => {
    expect(ask("example.com", ...policies)).toBe(expected);
    expect(ask("secrets-in-labels.example.com", ...policies)).toBe(expected);
  });
});

test("reverse lookups of Pod and Service addresses are not forwarded", () => {
  expect(ask("4.0.200.10.in-addr.arpa")).toEqual(nowhere);
  expect(ask("7.0.96.10.IN-ADDR.ARPA.")).toEqual(nowhere);
  expect(ask("7.100.51.198.in-addr.arpa")).toBe("ask-others");
  expect(ask("7.100.51.198.in-addr.arpa", nothingOut)).toBe("refused");
});

test("a query from an address that is not a Pod's is refused", () => {
  for (const from of ["10.200.0.1", "10.200.0.99", "127.0.0.1", ""]) {
    expect(answerFor(from, web, access(guestsIn))).toBe("refused");
    expect(answerFor(from, "example.com", access())).toBe("refused");
  }
});
