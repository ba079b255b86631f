import type { NetworkPolicy } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { type Cluster, type NetworkedPod, policiesOf } from "./policy.ts";

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

/** What the policies mean for the first Pod. */
function first(...policies: NetworkPolicy[]): unknown {
  const cluster: Cluster = { pods, policies, namespaces };
  const { ingress, egress } = policiesOf(cluster)[0] ?? {};
  return { ingress, egress };
}

const block = (cidr: string, ...except: string[]): object => ({ cidr, except });
const web = { matchLabels: { app: "web" } };

describe("policiesOf()", () => {
  test.each([
    ["no policy", [], { ingress: undefined, egress: undefined }],
    ["a policy of another namespace", [policy({ podSelector: {} }, "b")], { ingress: undefined, egress: undefined }],
    ["a policy for other Pods", [policy({ podSelector: { matchLabels: { app: "db" } } })], {}],
    ["nothing in", [policy({ podSelector: {} })], { ingress: [], egress: undefined }],
    ["nothing out", [policy({ podSelector: web, policyTypes: ["Egress"] })], { ingress: undefined, egress: [] }],
    [
      "rules for what goes out make it a policy about that",
      [policy({ podSelector: web, egress: [{}] })],
      { ingress: [], egress: [{ blocks: undefined, ports: undefined }] },
    ],
    [
      "Pods of the own namespace",
      [policy({ podSelector: web, ingress: [{ from: [{ podSelector: {} }] }] })],
      { ingress: [{ blocks: [block("10.0.0.2/32"), block("10.0.0.3/32")], ports: undefined }] },
    ],
    [
      "Pods of namespaces by their labels",
      [policy({ podSelector: web, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "blue" } } }] }] })],
      { ingress: [{ blocks: [block("10.0.0.4/32")], ports: undefined }] },
    ],
    [
      "both selectors in one peer must fit",
      [policy({ podSelector: web, ingress: [{ from: [{ namespaceSelector: {}, podSelector: web }] }] })],
      { ingress: [{ blocks: [block("10.0.0.2/32"), block("10.0.0.4/32")], ports: undefined }] },
    ],
    [
      "address blocks with holes, and ports",
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
            blocks: [block("0.0.0.0/0", "10.0.0.0/8")],
            ports: [
              { protocol: "tcp", from: 443, to: 443 },
              { protocol: "udp", from: 100, to: 200 },
            ],
          },
        ],
      },
    ],
    [
      "a named port is the receiver's",
      [policy({ podSelector: web, ingress: [{ ports: [{ port: "web" }] }] })],
      { ingress: [{ blocks: undefined, ports: [{ protocol: "tcp", from: 8080, to: 8080 }] }] },
    ],
    [
      "and another on each receiver",
      [
        policy({
          podSelector: web,
          policyTypes: ["Egress"],
          egress: [{ to: [{ podSelector: {} }], ports: [{ port: "web" }] }],
        }),
      ],
      {
        egress: [
          { blocks: [block("10.0.0.2/32")], ports: [{ protocol: "tcp", from: 8080, to: 8080 }] },
          { blocks: [block("10.0.0.3/32")], ports: [{ protocol: "tcp", from: 5432, to: 5432 }] },
        ],
      },
    ],
    [
      "a port that nobody has a name for allows nothing",
      [policy({ podSelector: web, ingress: [{ ports: [{ port: "none" }] }] })],
      { ingress: [] },
    ],
    [
      "two policies allow what either allows",
      [policy({ podSelector: web }), policy({ podSelector: web, ingress: [{}] })],
      { ingress: [{ blocks: undefined, ports: undefined }] },
    ],
  ] as const)("%s", (_name, policies, expected) => {
    expect(first(...policies)).toMatchObject(expected);
  });
});
