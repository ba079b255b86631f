import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, TestApi } from "../testing/test-api.test.support.ts";

const policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const post = (name: string, rule: object): Promise<Answer> =>
  api.send("POST", policies, {
    metadata: { name },
    spec: { podSelector: {}, policyTypes: ["Egress"], egress: [rule] },
  });

const block = (cidr: string, ...except: string[]): object => ({ to: [{ ipBlock: { cidr, except } }] });
const ports = (...all: object[]): object => ({ ports: all });

const where = "spec.egress[0]";
const badCidr = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const subset = "must be a strict subset of `cidr`";

describe("a NetworkPolicy is refused", () => {
  test.for([
    [
      "a range of ports whose end is less than its start",
      ports({ port: 8000, endPort: 10 }),
      `${where}.ports[0].endPort: Invalid value: 8000: must be greater than or equal to \`port\``,
    ],
    [
      "a range of a named port",
      ports({ port: "web", endPort: 10 }),
      `${where}.ports[0].endPort: Invalid value: 10: may not be specified when \`port\` is non-numeric`,
    ],
    [
      "a range without a start",
      ports({ endPort: 10 }),
      `${where}.ports[0].endPort: Invalid value: 10: may not be specified when \`port\` is not specified`,
    ],
    [
      "an end that is not a port",
      ports({ port: 1, endPort: 70_000 }),
      `${where}.ports[0].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
    ],
    [
      "an end of zero",
      ports({ port: 1, endPort: 0 }),
      `${where}.ports[0].endPort: Invalid value: 0: must be between 1 and 65535, inclusive`,
    ],
    [
      "a port of zero",
      ports({ port: 0 }),
      `${where}.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`,
    ],
    [
      "a protocol that contains firewall rules",
      ports({ protocol: "tcp dport 1 accept #", port: 1 }),
      `${where}.ports[0].protocol: Unsupported value`,
    ],
    [
      "a port name that contains firewall rules",
      ports({ port: "1 accept" }),
      `${where}.ports[0].port: Invalid value: "1 accept"`,
    ],
    ["an invalid block", block("10.0.0.0"), `${where}.to[0].ipBlock.cidr: Invalid value: "10.0.0.0": ${badCidr}`],
    ["a block with a number too large", block("10.0.0.256/8"), badCidr],
    ["a block with a prefix too long", block("10.0.0.0/33"), badCidr],
    ["a block with text after it", block("10.0.0.0/8 accept"), badCidr],
    ["a block with a zone", block("fe80::1%eth0/64"), badCidr],
    ["a block with host bits", block("10.0.0.1/8"), "must not have bits set beyond the prefix length"],
    ["a block of IPv6 with host bits", block("fd00::1/8"), "must not have bits set beyond the prefix length"],
    ["a block with leading zeros", block("010.0.0.0/8"), "must not have leading 0s in IP or prefix length"],
    ["an IPv4 block written as IPv6", block("::ffff:10.0.0.0/104"), "must not have an IPv4-mapped IPv6 address"],
    [
      "an exception outside the block",
      block("10.0.0.0/8", "192.168.0.0/16"),
      `${where}.to[0].ipBlock.except[0]: Invalid value: "192.168.0.0/16": ${subset}`,
    ],
    ["an exception as large as the block", block("10.0.0.0/8", "10.0.0.0/8"), subset],
    ["an exception larger than the block", block("10.0.0.0/8", "0.0.0.0/0"), subset],
    ["an exception of the other family", block("0.0.0.0/0", "fd00::/8"), subset],
    [
      "an invalid exception",
      block("10.0.0.0/8", "everywhere"),
      `${where}.to[0].ipBlock.except[0]: Invalid value: "everywhere": ${badCidr}`,
    ],
  ] as const)("for %s", async ([, rule, why]) => {
    const answer = await post("bad", rule);
    expect(answer).toMatchObject({ status: 422 });
    expect(answer.body.message).toContain(why);
    expect((await api.send("GET", `${policies}/bad`)).status).toBe(404);
  });
});

test("a NetworkPolicy may have ranges of ports, blocks of IPv6 and exceptions that overlap", async () => {
  const rule = {
    ports: [{ port: 80 }, { port: 8000, endPort: 8010 }, { port: "web" }, { protocol: "UDP" }],
    to: [
      { ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "10.1.0.0/16", "192.168.1.7/32"] } },
      { ipBlock: { cidr: "2001:db8::/32", except: ["2001:db8:1::/48"] } },
      { ipBlock: { cidr: "::/0" } },
    ],
  };
  expect(await post("good", rule)).toMatchObject({ status: 201 });
  const changed = await api.merge(`${policies}/good`, { spec: { egress: [ports({ port: 9, endPort: 8 })] } });
  expect(changed).toMatchObject({ status: 422 });
});
