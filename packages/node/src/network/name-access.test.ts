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
    ["does not exist while that is closed to others", [], web, nowhere],
    ["does not exist: a Service's", [], "front.b.svc.cluster.local", nowhere],
    ["does not exist: a headless Service's", [], "headless.b.svc.cluster.local", nowhere],
    ["does not exist where a policy lets nobody in", [nothingIn], web, nowhere],
    ["is known to whom a policy lets in", [guestsIn], web, { addresses: ["10.200.0.4"] }],
    ["is known: a Service's", [guestsIn], "front.b.svc.cluster.local", { addresses: ["10.96.0.7"] }],
    ["is known: a headless Service's", [guestsIn], "headless.b.svc.cluster.local", { addresses: ["10.200.0.4"] }],
    ["does not exist for a Pod that may not send there", [guestsIn, nothingOut], web, nowhere],
    [
      "does not exist for a Pod that may only send elsewhere",
      [guestsIn, out({ cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] })],
      web,
      nowhere,
    ],
    ["is the same as one that nobody has", [guestsIn], "nobody.b.svc.cluster.local", nowhere],
    ["is not what an external name says", [guestsIn], "alias.b.svc.cluster.local", nowhere],
    ["is never an address that no Service can have", [guestsIn], "foreign.b.svc.cluster.local", nowhere],
  ] as const)("%s", ([, policies, name, expected]) => {
    expect(ask(name, ...policies)).toEqual(expected);
  });
});

test("a name of the own namespace is known, whatever the policies say", () => {
  const closed = [nothingOut, policy("a", { podSelector: {} })];
  expect(ask("peer.a.svc.cluster.local", ...closed)).toEqual({ addresses: ["10.200.0.3"] });
});

describe("a name outside the cluster", () => {
  test.for([
    ["is asked for where no policy says anything", [], "ask-others"],
    ["is asked for with a policy about what comes in", [policy("a", { podSelector: {} })], "ask-others"],
    ["is refused where nothing goes out", [nothingOut], "refused"],
    ["is refused where only Pods are reached", [out({ cidr: "10.200.0.0/20" })], "refused"],
    [
      "is refused where only Services are reached",
      [out({ cidr: "10.96.0.0/16" }, { cidr: "169.254.169.254/32" })],
      "refused",
    ],
    [
      "is asked for where public addresses are reached",
      [out({ cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] })],
      "ask-others",
    ],
    ["is asked for where one address outside is reached", [out({ cidr: "198.51.100.7/32" })], "ask-others"],
  ] as const)("%s", ([, policies, expected]) => {
    expect(ask("example.com", ...policies)).toBe(expected);
    expect(ask("secrets-in-labels.example.com", ...policies)).toBe(expected);
  });
});

test("addresses of Pods and Services are not asked for outside", () => {
  expect(ask("4.0.200.10.in-addr.arpa")).toEqual(nowhere);
  expect(ask("7.0.96.10.IN-ADDR.ARPA.")).toEqual(nowhere);
  expect(ask("7.100.51.198.in-addr.arpa")).toBe("ask-others");
  expect(ask("7.100.51.198.in-addr.arpa", nothingOut)).toBe("refused");
});

test("somebody who is no Pod is refused", () => {
  for (const from of ["10.200.0.1", "10.200.0.99", "127.0.0.1", ""]) {
    expect(answerFor(from, web, access(guestsIn))).toBe("refused");
    expect(answerFor(from, "example.com", access())).toBe("refused");
  }
});
