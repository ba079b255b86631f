import type { Service } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { type ServingPod, serviceAddressesOf } from "./services.ts";

const pod: ServingPod = {
  namespace: "a",
  name: "web",
  labels: { app: "web" },
  address: "10.200.0.2",
  ports: new Map([["http", 8080]]),
  ready: true,
  hostname: "web",
  subdomain: "",
};

const service = (clusterIP: string, given: object = {}, metadata: object = {}): Service => ({
  metadata: { namespace: "a", name: "s", ...metadata },
  spec: { clusterIP, selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }], ...given },
});

const serviceAddresses = (...services: Service[]): unknown => {
  const view = serviceAddressesOf(services, [pod], "10.200.0.0/20");
  return [view.serviceAddresses, view.problems.map(({ text }) => text)];
};

const serviceAddress = (address: string, given: object = {}): object => ({
  namespace: "a",
  address,
  protocol: "tcp",
  port: 80,
  targets: [{ address: "10.200.0.2", port: 8080 }],
  ...given,
});

describe("serviceAddressesOf()", () => {
  test("returns an address for each port of a Service with a cluster IP in the Service range", () => {
    expect(serviceAddresses(service("10.96.0.7"))).toEqual([[serviceAddress("10.96.0.7")], []]);
  });

  test.for([
    "10.200.0.2",
    "10.200.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "198.51.100.7",
    "0.0.0.0",
    "255.255.255.255",
    "10.96.0.7 tcp dport 1 accept",
    "10.96.0.0/16",
    "fd00::1",
    "10.97.0.1",
  ])("returns nothing for %s, which is not in the Service range", (address) => {
    expect(serviceAddresses(service(address))).toEqual([
      [],
      [`The cluster IP "${address}" is not in 10.96.0.0/16: nothing is redirected`],
    ]);
  });

  test("returns nothing for an address of the Pod network, even if it is in the Service range", () => {
    const view = serviceAddressesOf([service("10.96.0.7")], [pod], "10.96.0.0/20");
    expect(view.serviceAddresses).toEqual([]);
    expect(view.problems[0]?.text).toBe(`The cluster IP "10.96.0.7" is in the Pod network: nothing is redirected`);
  });

  test("gives an address to the oldest of the Services that have it", () => {
    const old = service("10.96.0.7", {}, { namespace: "z", creationTimestamp: "2026-01-01T00:00:00Z" });
    const young = service("10.96.0.7", {}, { namespace: "a", creationTimestamp: "2026-01-02T00:00:00Z" });
    for (const order of [
      [old, young],
      [young, old],
    ]) {
      const view = serviceAddressesOf(order, [{ ...pod, namespace: "z" }, pod], "10.200.0.0/20");
      expect(view.serviceAddresses.map(({ namespace }) => namespace)).toEqual(["z"]);
      expect(view.problems.map(({ service: { metadata } }) => metadata?.namespace)).toEqual(["a"]);
    }
  });

  test.for([
    ["externalIPs", { externalIPs: ["198.51.100.7"] }, [serviceAddress("10.96.0.7")]],
    ["loadBalancerIP", { type: "LoadBalancer", loadBalancerIP: "198.51.100.7" }, [serviceAddress("10.96.0.7")]],
    [
      "node ports",
      { type: "NodePort", ports: [{ port: 80, nodePort: 30_001, targetPort: "http" }] },
      [serviceAddress("10.96.0.7")],
    ],
    ["an external name", { type: "ExternalName", externalName: "db.other.svc.cluster.local" }, []],
    ["an unknown protocol", { ports: [{ protocol: "ICMP", port: 80 }] }, []],
    ["port 0", { ports: [{ port: 0 }] }, []],
    [
      "a target port out of range",
      { ports: [{ port: 80, targetPort: 70_000 }] },
      [serviceAddress("10.96.0.7", { targets: [] })],
    ],
    ["no selector", { selector: {} }, [serviceAddress("10.96.0.7", { targets: [] })]],
  ] as const)("adds no address for %s", ([, given, expected]) => {
    expect(serviceAddresses(service("10.96.0.7", given))).toEqual([expected, []]);
  });

  test("limits the firewall rules of one namespace", () => {
    const ports = Array.from({ length: 1500 }, (_, at) => ({ port: at + 1, targetPort: 8080 }));
    const many = [1, 2, 3].map((at) =>
      service(`10.96.2.${at}`, { ports }, { name: `s${at}`, creationTimestamp: `2026-01-0${at}T00:00:00Z` }),
    );
    const other = service("10.96.1.1", {}, { namespace: "b", creationTimestamp: "2026-01-09T00:00:00Z" });
    const view = serviceAddressesOf([...many, other], [pod], "10.200.0.0/20");
    expect(view.serviceAddresses).toHaveLength(1501);
    expect(view.problems.map(({ service: { metadata } }) => metadata?.name)).toEqual(["s2", "s3"]);
  });
});
