import { expect, test } from "vitest";
import { type Enforcer, enforceRules } from "./enforce-rules.ts";
import type { FirewallContent } from "./firewall.ts";

const content: FirewallContent = {
  policies: ["a", "b", "c", "d", "e"].map((namespace, at) => ({
    namespace,
    address: `10.0.0.${at + 2}`,
    ingress: undefined,
    egress: undefined,
  })),
  serviceAddresses: ["a", "c"].map((namespace) => ({
    namespace,
    address: "10.96.0.7",
    protocol: "tcp",
    port: 80,
    targets: [],
  })),
  routed: [],
};

/** Refuses rules that contain rules of one of the namespaces. */
function refusing(...namespaces: string[]): Enforcer & { readonly enforced: FirewallContent[] } {
  const enforced: FirewallContent[] = [];
  const fine = ({ policies, serviceAddresses }: FirewallContent): boolean =>
    !policies.some(({ namespace, egress }) => namespaces.includes(namespace) && egress === undefined) &&
    !serviceAddresses.some(({ namespace }) => namespaces.includes(namespace));
  return {
    enforced,
    enforce: async (each) => {
      if (!fine(each)) throw new Error("nft says no");
      enforced.push(each);
    },
    accepts: async (each) => fine(each),
  };
}

test("rules that nft accepts are applied unchanged", async () => {
  const enforcer = refusing();
  expect(await enforceRules(content, enforcer)).toEqual([]);
  expect(enforcer.enforced).toEqual([content]);
});

test("namespaces whose rules nft refuses are closed, and all others get their rules", async () => {
  const enforcer = refusing("c", "e");
  expect(await enforceRules(content, enforcer)).toEqual(["c", "e"]);
  const [enforced] = enforcer.enforced;
  expect(enforced?.policies.map(({ egress }) => egress)).toEqual([undefined, undefined, [], undefined, []]);
  expect(enforced?.serviceAddresses.map(({ namespace }) => namespace)).toEqual(["a"]);
});

test("a failure that no namespace causes leaves the current rules", async () => {
  const broken: Enforcer = { enforce: () => Promise.reject(new Error("no nft")), accepts: async () => false };
  await expect(enforceRules(content, broken)).rejects.toThrow("no nft");
});
