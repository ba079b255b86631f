import type { NetworkPolicy } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outside } from "./machine.ts";
import type { Tenant } from "./tenant.ts";
import { until } from "./until.ts";
import { networkPolicies } from "./victim.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

type Spec = NonNullable<NetworkPolicy["spec"]>;

describe.skipIf(noWorld)("network policies that a tenant writes", () => {
  let world: World;
  let mallory: Tenant;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    await mallory.runPod("evil", { metadata: { labels: { app: "evil" } } });
  });
  afterAll(async () => {
    await mallory?.removePod("evil");
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const post = (name: string, spec: unknown): Promise<{ status: number; body: unknown }> =>
    mallory.request("POST", `/apis/networking.k8s.io/v1/namespaces/${mallory.namespace}/networkpolicies`, {
      metadata: { name },
      spec,
    });
  const forget = (name: string): Promise<unknown> =>
    mallory.client.delete(networkPolicies, { namespace: mallory.namespace, name });
  const sending = (egress: unknown): Spec => ({ podSelector: {}, policyTypes: ["Egress"], egress }) as Spec;

  test("rules that the firewall cannot express are refused, and the victim's new rules take effect", async () => {
    const block = (cidr: string, ...except: string[]): object => ({ to: [{ ipBlock: { cidr, except } }] });
    for (const rule of [
      { ports: [{ port: 8000, endPort: 10 }] },
      { ports: [{ port: "web", endPort: 10 }] },
      { ports: [{ endPort: 10 }] },
      { ports: [{ port: 1, endPort: 70_000 }] },
      block("10.0.0.0/8", "192.168.0.0/16"),
      block("10.0.0.0/8", "10.0.0.0/8"),
      block("0.0.0.0/0", "nowhere"),
      block("10.0.0.0/8 } accept"),
      block("10.0.0.1/33"),
    ]) {
      expect(await post("bad", sending([rule]))).toMatchObject({ status: 422 });
    }
    expect(await world.alice.startsPodsAndPolicies()).toBe(true);
  });

  test("rules that overlap, repeat and mix families are enforced, and the victim's new rules take effect", async () => {
    const except = ["10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/9", "192.168.0.0/16", "192.168.0.0/17"];
    const egress = [
      {
        to: [
          { ipBlock: { cidr: "0.0.0.0/0", except } },
          { ipBlock: { cidr: "::/0" } },
          { ipBlock: { cidr: "0.0.0.0/1" } },
        ],
        ports: [
          { port: 80 },
          { port: 80, endPort: 90 },
          { port: 1, endPort: 65_535 },
          { protocol: "UDP" },
          { port: 81 },
        ],
      },
    ];
    expect(await post("odd", sending(egress))).toMatchObject({ status: 201 });
    expect(await world.alice.startsPodsAndPolicies()).toBe(true);
    await forget("odd");
  });

  test("more rules than the limit close the tenant's own Pods, and an event reports it", async () => {
    const url = `http://${outside.public}/`;
    const get = `python3 -c 'import urllib.request; print(urllib.request.urlopen("${url}", timeout=1).read())'`;
    expect(await mallory.shell("evil", get)).toContain("outside");
    const peers = (at: number): object[] =>
      Array.from({ length: 1600 }, (_, each) => ({ ipBlock: { cidr: `${at}.${each >> 8}.${each & 255}.0/25` } }));
    for (const at of [11, 12, 13, 203]) await post(`huge-${at}`, sending([{ to: peers(at) }, {}]));
    const events = await until(async () => {
      const all = await Promise.all([11, 12, 13, 203].map((at) => mallory.events(`huge-${at}`)));
      return all.flat().find((text) => text.includes("NotEnforced"));
    });
    expect(events).toContain("its Pods can neither send nor receive");
    expect(await mallory.shell("evil", get)).not.toContain("outside");
    expect(await world.alice.startsPodsAndPolicies()).toBe(true);
    for (const at of [11, 12, 13, 203]) await forget(`huge-${at}`);
    await until(async () => ((await mallory.shell("evil", get)).includes("outside") ? true : undefined));
  });

  test("two hundred policies at once do not keep the victim's rules from taking effect", async () => {
    const names = Array.from({ length: 200 }, (_, at) => `many-${at}`);
    const spec = { podSelector: { matchLabels: { app: "evil" } }, ingress: [{ ports: [{ port: 80 }] }] };
    await Promise.all(names.map((name) => post(name, spec)));
    expect(await world.alice.startsPodsAndPolicies()).toBe(true);
    expect(await world.alice.harm()).toEqual([]);
    await Promise.all(names.map((name) => forget(name).catch(() => undefined)));
  });
});
