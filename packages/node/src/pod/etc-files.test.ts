import { expect, test } from "vitest";
import { etcFiles } from "./etc-files.ts";

test("hosts, hostname and resolv.conf contain the Pod's names and name servers", () => {
  const pod = {
    metadata: { name: "p", namespace: "n" },
    spec: {
      containers: [],
      subdomain: "s",
      dnsPolicy: "None",
      hostAliases: [{ ip: "1.2.3.4", hostnames: ["a", "b"] }],
      dnsConfig: {
        nameservers: ["9.9.9.9"],
        searches: ["x.y", "z"],
        options: [{ name: "ndots", value: "2" }, { name: "rotate" }],
      },
    },
  };
  expect(etcFiles(pod, { address: "10.0.0.2", nameServer: "10.0.0.1" })).toEqual({
    hosts:
      "127.0.0.1\tlocalhost\n::1\tlocalhost\tip6-localhost\tip6-loopback\n10.0.0.2\tp.s.n.svc.cluster.local\tp\n1.2.3.4\ta\tb\n",
    hostname: "p\n",
    "resolv.conf": "nameserver 9.9.9.9\nsearch x.y z\noptions ndots:2\noptions rotate\n",
  });
});

test.each([
  [
    "ClusterFirst",
    undefined,
    "nameserver 10.0.0.1\nsearch n.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n",
  ],
  ["Default", undefined, "nameserver 10.0.0.1\n"],
  ["None", undefined, ""],
  [
    "ClusterFirst",
    { nameservers: ["9.9.9.9"], options: [{ name: "ndots", value: "1" }] },
    "nameserver 10.0.0.1\nnameserver 9.9.9.9\nsearch n.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:1\n",
  ],
])("dnsPolicy %s with %j", (dnsPolicy, dnsConfig, expected) => {
  const spec = { containers: [], dnsPolicy, ...(dnsConfig && { dnsConfig }) };
  const files = etcFiles(
    { metadata: { name: "p", namespace: "n" }, spec },
    { address: "10.0.0.2", nameServer: "10.0.0.1" },
  );
  expect(files["resolv.conf"]).toBe(expected);
});
