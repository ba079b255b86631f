import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { endpointSliceStrategy, endpointsStrategy } from "./endpoints.ts";

const endpoints = (subset: object): ApiObject => ({
  apiVersion: "v1",
  kind: "Endpoints",
  metadata: { name: "e" },
  subsets: [subset],
});
const port = { port: 80, protocol: "TCP" };
const slice = (more: object): ApiObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "s" },
  addressType: "IPv4",
  endpoints: [{ addresses: ["192.0.2.1"] }],
  ports: [{ name: "", ...port }],
  ...more,
});

const fields = (problems: readonly { field: string }[] | undefined): string[] => [
  ...new Set((problems ?? []).map(({ field }) => field)),
];

describe("Endpoints", () => {
  test.for<[object, string[]]>([
    [{ addresses: [{ ip: "192.0.2.1", nodeName: "box" }], ports: [port] }, []],
    [{ notReadyAddresses: [{ ip: "2001:db8::1" }] }, []],
    [{ ports: [port] }, ["subsets[0]"]],
    [{ addresses: [{ ip: "somewhere" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "127.0.0.1" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "::1" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "0.0.0.0" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "fe80::1" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "224.0.0.1" }] }, ["subsets[0].addresses[0].ip"]],
    [{ addresses: [{ ip: "192.0.2.1", hostname: "Not A Name" }] }, ["subsets[0].addresses[0].hostname"]],
    [{ addresses: [{ ip: "192.0.2.1", nodeName: "Not A Name" }] }, ["subsets[0].addresses[0].nodeName"]],
    [
      { addresses: [{ ip: "192.0.2.1" }], ports: [port, port] },
      ["subsets[0].ports[0].name", "subsets[0].ports[1].name"],
    ],
    [
      { addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 0, protocol: "ICMP" }] },
      ["subsets[0].ports[0].port", "subsets[0].ports[0].protocol"],
    ],
    [
      { addresses: [{ ip: "192.0.2.1" }], ports: [{ ...port, appProtocol: "a b" }] },
      ["subsets[0].ports[0].appProtocol"],
    ],
  ])("%j are refused for %j", ([subset, expected]) => {
    expect(fields(endpointsStrategy.validate?.(endpoints(subset), undefined, "v1"))).toEqual(expected);
  });

  test("that are invalid are accepted if they do not change", () => {
    const old = endpoints({ addresses: [{ ip: "127.0.0.1" }] });
    expect(endpointsStrategy.validate?.({ ...old, metadata: { name: "e", labels: { a: "b" } } }, old, "v1")).toEqual(
      [],
    );
  });
});

describe("EndpointSlices", () => {
  test.for<[object, string[]]>([
    [{}, []],
    [{ addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] }, []],
    [{ addressType: "FQDN", endpoints: [{ addresses: ["a.example.com."] }] }, []],
    [{ addressType: "FQDN", endpoints: [{ addresses: ["single"] }] }, ["endpoints[0].addresses[0]"]],
    [{ addressType: "FQDN", endpoints: [{ addresses: [""] }] }, ["endpoints[0].addresses[0]"]],
    [{ endpoints: [{ addresses: [] }] }, ["endpoints[0].addresses"]],
    [{ endpoints: [{ addresses: ["2001:db8::1"] }] }, ["endpoints[0].addresses"]],
    [{ endpoints: [{ addresses: ["169.254.0.1"] }] }, ["endpoints[0].addresses[0]"]],
    [{ endpoints: [{ addresses: ["192.0.2.1"], hostname: "A" }] }, ["endpoints[0].hostname"]],
    [{ endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["192.0.2.1"] })) }, ["endpoints"]],
    [{ endpoints: [{ addresses: Array.from({ length: 101 }, () => "192.0.2.1") }] }, ["endpoints[0].addresses"]],
    [
      {
        ports: [
          { name: "a", ...port },
          { name: "a", ...port },
        ],
      },
      ["ports[1].name"],
    ],
  ])("%j are refused for %j", ([more, expected]) => {
    expect(fields(endpointSliceStrategy.validate?.(slice(more), undefined, "discovery.k8s.io/v1"))).toEqual(expected);
  });

  test("cannot change their address type", () => {
    const changed = slice({ addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] });
    expect(fields(endpointSliceStrategy.validate?.(changed, slice({}), "discovery.k8s.io/v1"))).toEqual([
      "addressType",
    ]);
  });
});
