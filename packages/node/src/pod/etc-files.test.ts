import { expect, test } from "vitest";
import { etcFiles } from "./etc-files.ts";

test("a Pod's names and name servers", () => {
  const pod = {
    metadata: { name: "p", namespace: "n" },
    spec: {
      containers: [],
      subdomain: "s",
      hostAliases: [{ ip: "1.2.3.4", hostnames: ["a", "b"] }],
      dnsConfig: {
        nameservers: ["9.9.9.9"],
        searches: ["x.y", "z"],
        options: [{ name: "ndots", value: "2" }, { name: "rotate" }],
      },
    },
  };
  expect(etcFiles(pod, "10.0.0.2")).toEqual({
    hosts:
      "127.0.0.1\tlocalhost\n::1\tlocalhost\tip6-localhost\tip6-loopback\n10.0.0.2\tp.s.n.svc.cluster.local\tp\n1.2.3.4\ta\tb\n",
    hostname: "p\n",
    "resolv.conf": "nameserver 9.9.9.9\nsearch x.y z\noptions ndots:2\noptions rotate\n",
  });
});
