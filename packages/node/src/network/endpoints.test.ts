import type { Pod, Service } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { endpointGroups, endpointsOf, isSelecting, slicesOf } from "./endpoints.ts";

const service: Service = {
  metadata: { namespace: "default", name: "web", uid: "12345678-aaaa" },
  spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "http" }] },
};
const pod = (name: string, more: Partial<Pod> = {}, port = 8080): Pod => ({
  metadata: { namespace: "default", name, uid: `uid-${name}`, labels: { app: "web" }, ...more.metadata },
  spec: {
    nodeName: "box",
    containers: [{ name: "main", image: "host", ports: [{ name: "http", containerPort: port }] }],
    ...more.spec,
  },
  status: { phase: "Running", podIP: "10.0.0.2", conditions: [{ type: "Ready", status: "True" }], ...more.status },
});
const unready = { status: { conditions: [{ type: "Ready", status: "False" }] } };

describe("endpointGroups()", () => {
  const conditionsOf = (one: Pod, of: Service = service): unknown =>
    endpointGroups(of, [one])[0]?.endpoints[0]?.conditions;

  test("a Pod that is ready", () => {
    expect(endpointGroups(service, [pod("a")])).toEqual([
      {
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints: [
          {
            addresses: ["10.0.0.2"],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: "box",
            targetRef: { kind: "Pod", namespace: "default", name: "a", uid: "uid-a" },
          },
        ],
      },
    ]);
  });

  test.for([
    ["is not ready", pod("a", unready), { ready: false, serving: false, terminating: false }],
    [
      "is on its way out",
      pod("a", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      { ready: false, serving: true, terminating: true },
    ],
  ] as const)("a Pod that %s", ([, one, expected]) => {
    expect(conditionsOf(one)).toEqual(expected);
  });

  test("a Service with publishNotReadyAddresses", () => {
    const careless = { ...service, spec: { ...service.spec, publishNotReadyAddresses: true } };
    expect(conditionsOf(pod("a", unready), careless)).toMatchObject({ ready: true });
  });

  test.for([
    ["has no address yet", pod("a", { status: { podIP: "" } })],
    ["has finished", pod("a", { status: { phase: "Succeeded" } })],
    ["is in another namespace", pod("a", { metadata: { namespace: "other" } })],
    ["has other labels", pod("a", { metadata: { labels: { app: "other" } } })],
  ] as const)("not a Pod that %s", ([, one]) => {
    expect(endpointGroups(service, [one])).toEqual([]);
  });

  test("Pods with another number for a port name are in another group, and unknown port names are left out", () => {
    const groups = endpointGroups(service, [
      pod("b", {}, 9090),
      pod("a"),
      pod("c"),
      pod("d", { spec: { containers: [{ name: "main", image: "host" }] } }),
    ]);
    expect(groups.map(({ ports, endpoints }) => [ports[0]?.port, endpoints.length])).toEqual([
      [8080, 2],
      [9090, 1],
      [undefined, 1],
    ]);
  });

  test("the hostname of a Pod is used for the Service that its subdomain names", () => {
    const named = (subdomain: string): unknown =>
      endpointGroups(service, [pod("a", { spec: { containers: [], hostname: "first", subdomain } })])[0]?.endpoints[0]
        ?.hostname;
    expect([named("web"), named("other")]).toEqual(["first", undefined]);
  });

  test("contains at most a thousand endpoints", () => {
    const many = Array.from({ length: 1001 }, (_, index) => pod(`pod-${index}`));
    expect(endpointGroups(service, many)[0]?.endpoints).toHaveLength(1000);
  });
});

test("slices are named after their Service and owned by it, and a Service without Pods has an empty one", () => {
  const groups = endpointGroups(service, [pod("a"), pod("b", {}, 9090)]);
  expect(slicesOf(service, groups).map(({ metadata }) => metadata?.name)).toEqual(["web-12345678", "web-12345678-1"]);
  expect(slicesOf(service, [])).toMatchObject([
    {
      metadata: {
        name: "web-12345678",
        labels: { "kubernetes.io/service-name": "web" },
        ownerReferences: [{ kind: "Service", uid: "12345678-aaaa" }],
      },
      endpoints: [],
    },
  ]);
});

test("Endpoints list ready and other addresses separately", () => {
  const groups = endpointGroups(service, [pod("a"), pod("b", { status: { ...unready.status, podIP: "10.0.0.3" } })]);
  expect(endpointsOf(service, groups).subsets).toMatchObject([
    { addresses: [{ ip: "10.0.0.2" }], notReadyAddresses: [{ ip: "10.0.0.3" }], ports: [{ port: 8080 }] },
  ]);
});

test.for([
  ["none", { metadata: {}, spec: { ports: [] } }, false],
  ["an external name", { spec: { type: "ExternalName", selector: { a: "b" } } }, false],
  ["labels", service, true],
] as const)("a Service that selects %s", ([, one, expected]) => {
  expect(isSelecting(one as Service)).toBe(expected);
});
