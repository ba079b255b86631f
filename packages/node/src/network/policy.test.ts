import type { NetworkPolicy } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { type Allowance, type Cluster, type NetworkedPod, policiesOf } from "./policy.ts";
import { formatAddresses } from "./ranges.ts";

const pod = (namespace: string, app: string, address: string, port = 8080): NetworkedPod => ({
  namespace,
  labels: { app },
  address,
  ports: new Map([["web", port]]),
});

const pods = [pod("a", "web", "10.0.0.2"), pod("a", "db", "10.0.0.3", 5432), pod("b", "web", "10.0.0.4")];
const namespaces = new Map([
  ["a", { team: "red" }],
  ["b", { team: "blue" }],
]);

const policy = (spec: NonNullable<NetworkPolicy["spec"]>, namespace = "a"): NetworkPolicy => ({
  metadata: { namespace, name: "p" },
  spec,
});

/** The rules of the first Pod. */
function first(...policies: NetworkPolicy[]): unknown {
  const cluster: Cluster = { pods, policies, namespaces };
  const { ingress, egress } = policiesOf(cluster).policies[0] ?? {};
  return { ingress: ingress?.map(shown), egress: egress?.map(shown) };
}

const shown = ({ addresses, ports }: Allowance): object => ({ addresses: addresses?.map(formatAddresses), ports });
const all = { addresses: undefined, ports: undefined };
const tcp = (from: number, to = from): object => ({ protocol: "tcp", ports: [{ from, to }] });
const web = { matchLabels: { app: "web" } };

describe("policiesOf()", () => {
  test.each([
    ["no policy", [], { ingress: undefined, egress: undefined }],
    ["a policy of another namespace", [policy({ podSelector: {} }, "b")], { ingress: undefined, egress: undefined }],
    ["a policy for other Pods", [policy({ podSelector: { matchLabels: { app: "db" } } })], {}],
    ["a policy without ingress rules", [policy({ podSelector: {} })], { ingress: [], egress: undefined }],
    [
      "a policy without egress rules",
      [policy({ podSelector: web, policyTypes: ["Egress"] })],
      { ingress: undefined, egress: [] },
    ],
    [
      "egress rules make it a policy for egress",
      [policy({ podSelector: web, egress: [{}] })],
      { ingress: [], egress: [all] },
    ],
    [
      "Pods of the own namespace",
      [policy({ podSelector: web, ingress: [{ from: [{ podSelector: {} }] }] })],
      { ingress: [{ addresses: ["10.0.0.2-10.0.0.3"], ports: undefined }] },
    ],
    [
      "Pods of namespaces by their labels",
      [policy({ podSelector: web, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "blue" } } }] }] })],
      { ingress: [{ addresses: ["10.0.0.4"], ports: undefined }] },
    ],
    [
      "both selectors of a peer must match",
      [policy({ podSelector: web, ingress: [{ from: [{ namespaceSelector: {}, podSelector: web }] }] })],
      { ingress: [{ addresses: ["10.0.0.2", "10.0.0.4"], ports: undefined }] },
    ],
    [
      "address blocks with exceptions, and ports",
      [
        policy({
          podSelector: web,
          policyTypes: ["Egress"],
          egress: [
            {
              to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }],
              ports: [{ port: 443 }, { protocol: "UDP", port: 100, endPort: 200 }],
            },
          ],
        }),
      ],
      {
        egress: [
          {
            addresses: ["0.0.0.0-9.255.255.255", "11.0.0.0-255.255.255.255"],
            ports: [tcp(443), { protocol: "udp", ports: [{ from: 100, to: 200 }] }],
          },
        ],
      },
    ],
    [
      "a named port is the receiver's",
      [policy({ podSelector: web, ingress: [{ ports: [{ port: "web" }] }] })],
      { ingress: [{ addresses: undefined, ports: [tcp(8080)] }] },
    ],
    [
      "a named port is another number on each receiver",
      [
        policy({
          podSelector: web,
          policyTypes: ["Egress"],
          egress: [{ to: [{ podSelector: {} }], ports: [{ port: "web" }] }],
        }),
      ],
      {
        egress: [
          { addresses: ["10.0.0.2"], ports: [tcp(8080)] },
          { addresses: ["10.0.0.3"], ports: [tcp(5432)] },
        ],
      },
    ],
    [
      "a port name that no Pod has allows nothing",
      [policy({ podSelector: web, ingress: [{ ports: [{ port: "none" }] }] })],
      { ingress: [] },
    ],
    [
      "two policies allow what either allows",
      [policy({ podSelector: web }), policy({ podSelector: web, ingress: [{}] })],
      { ingress: [all] },
    ],
  ] as const)("%s", (_name, policies, expected) => {
    expect(first(...policies)).toMatchObject(expected);
  });
});

type Rule = NonNullable<NonNullable<NetworkPolicy["spec"]>["egress"]>[number];

/** What an egress rule allows for the first Pod, and the problems that are reported. */
function sending(...rules: unknown[]): unknown {
  const spec = { podSelector: {}, policyTypes: ["Egress"], egress: rules as Rule[] };
  const { policies, problems } = policiesOf({ pods, policies: [policy(spec)], namespaces });
  return [policies[0]?.egress?.map(shown), problems.map(({ text }) => text)];
}

const to = (cidr: string, ...except: string[]): object => ({ to: [{ ipBlock: { cidr, except } }] });

describe("a rule that the API server should have refused", () => {
  test.for([
    [
      "a range that ends before it begins",
      { ports: [{ port: 8000, endPort: 10 }] },
      [],
      "egress[0].ports[0]: not understood",
    ],
    ["a range of a named port", { ports: [{ port: "web", endPort: 10 }] }, [], "egress[0].ports[0]: not understood"],
    ["a port out of range", { ports: [{ port: 70_000 }] }, [], "egress[0].ports[0]: not understood"],
    ["a port that is a fraction", { ports: [{ port: 1.5 }] }, [], "egress[0].ports[0]: not understood"],
    [
      "a protocol that is a rule",
      { ports: [{ protocol: "tcp dport 1 accept", port: 1 }] },
      [],
      "egress[0].ports[0]: not understood",
    ],
    ["a block that is not a CIDR", to("everywhere"), [{ addresses: [], ports: undefined }], 'ipBlock "everywhere"'],
    [
      "a block with a rule in it",
      to("10.0.0.0/8 } accept"),
      [{ addresses: [], ports: undefined }],
      "the block is empty",
    ],
    ["an invalid exception", to("0.0.0.0/0", "nowhere"), [{ addresses: [], ports: undefined }], "the block is empty"],
    ["an exception of IPv6", to("0.0.0.0/0", "fd00::/8"), [{ addresses: [], ports: undefined }], "the block is empty"],
    [
      "a selector with an unknown operator",
      { to: [{ podSelector: { matchExpressions: [{ key: "app", operator: "Near" }] } }] },
      [{ addresses: [], ports: undefined }],
      "the selector of peer 0 is not understood",
    ],
  ] as const)("allows nothing: %s", ([, rule, allowed, text]) => {
    expect(sending(rule)).toEqual([allowed, [expect.stringContaining(text)]]);
  });

  test.for([
    ["an IPv6 block matches nothing", to("::/0"), []],
    ["host bits of a block are ignored", to("10.1.2.3/16"), ["10.1.0.0-10.1.255.255"]],
    ["leading zeros are not octal", to("010.0.0.0/8"), ["10.0.0.0-10.255.255.255"]],
    ["exceptions may overlap", to("10.0.0.0/8", "10.0.0.0/9", "10.64.0.0/10"), ["10.128.0.0-10.255.255.255"]],
    ["an exception may be everything", to("10.0.0.0/8", "0.0.0.0/0"), []],
  ] as const)("%s", ([, rule, addresses]) => {
    expect(sending(rule)).toEqual([[{ addresses, ports: undefined }], []]);
  });

  test("selects all Pods of the namespace if its podSelector is invalid", () => {
    const podSelector = { matchExpressions: [{ key: "app", operator: "Near" }] };
    const { policies } = policiesOf({ pods, policies: [policy({ podSelector, ingress: [{}] })], namespaces });
    expect(policies.map(({ ingress }) => ingress)).toEqual([[], [], undefined]);
  });

  test("applies to both directions if it names an unknown one", () => {
    expect(first(policy({ podSelector: {}, policyTypes: ["Sideways"] }))).toEqual({ ingress: [], egress: [] });
  });
});

describe("policies above the limits", () => {
  const open = [{ ingress: undefined, egress: undefined }];
  const judge = (...policies: NetworkPolicy[]): unknown => {
    const view = policiesOf({ pods, policies, namespaces });
    return [view.policies.map(({ ingress, egress }) => ({ ingress, egress })), view.problems.map(({ text }) => text)];
  };
  const closed = [{ ingress: [], egress: [] }, { ingress: [], egress: [] }, ...open];

  test("close their own namespace and no other: many ports", () => {
    const ports = Array.from({ length: 5001 }, (_, at) => ({ port: at + 1 }));
    const text = expect.stringContaining("have 5003 selectors, peers, ports and exceptions, more than 5000");
    expect(judge(policy({ podSelector: {}, ingress: [{ ports }] }))).toEqual([closed, [text]]);
  });

  test("close their own namespace and no other: many blocks in several policies", () => {
    const peers = (first: number): object[] =>
      Array.from({ length: 2100 }, (_, at) => ({ ipBlock: { cidr: `${first}.${at >> 8}.${at & 255}.0/25` } }));
    const many = [11, 12].map((at) => policy({ podSelector: {}, ingress: [{ from: peers(at) }] }));
    expect(judge(...many)).toEqual([closed, [expect.stringContaining("need 4202 ranges of addresses and ports")]]);
  });

  test("close their own namespace and no other: many values of a selector", () => {
    const values = Array.from({ length: 5000 }, (_, at) => `v${at}`);
    const podSelector = { matchExpressions: [{ key: "app", operator: "NotIn", values }] };
    expect(judge(policy({ podSelector }))).toEqual([closed, [expect.stringContaining("more than 5000")]]);
  });

  test("are counted once for all Pods that share them", () => {
    const from = Array.from({ length: 2000 }, (_, at) => ({ ipBlock: { cidr: `11.${at >> 8}.${at & 255}.0/25` } }));
    const { policies, problems } = policiesOf({
      pods,
      policies: [policy({ podSelector: {}, ingress: [{ from }] })],
      namespaces,
    });
    expect(problems).toEqual([]);
    expect(policies[0]?.ingress).toBe(policies[1]?.ingress);
  });
});
