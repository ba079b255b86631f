import { apiServerAddress, serviceRange } from "@agent-sandbox/api";
import { reachesApiServer } from "./api-access.ts";
import { type NameView, podsNamed } from "./names.ts";
import type { Allowance, PodPolicy } from "./policy.ts";
import { includes, type Range, rangeOf, without } from "./ranges.ts";
import type { ServingPod } from "./services.ts";
import { overlap, parseAddress, parseSubnet } from "./subnet.ts";

/** The state that decides which names a Pod can resolve. */
export interface NameAccess extends NameView {
  /** The enforced policies, by Pod address. */
  readonly policies: ReadonlyMap<string, PodPolicy>;
  /** The Pods on the network, by address. */
  readonly podsAt: ReadonlyMap<string, ServingPod>;
  /** The Pod network. */
  readonly subnet: string;
}

export type NameAnswer =
  /** A name of the cluster. Empty if it does not exist or this Pod may not resolve it. */
  | { readonly addresses: readonly string[] }
  /** Not a name of the cluster, and this Pod may query other DNS servers. */
  | "ask-others"
  | "refused";

/**
 * Resolves a name for a Pod. Names in its own namespace always resolve. A name in another namespace resolves to the Pods that
 * this Pod can reach, and does not exist if there are none. Names outside the cluster resolve for Pods with egress to the outside.
 */
export function answerFor(from: string, name: string, access: NameAccess): NameAnswer {
  const asker = access.podsAt.get(from);
  const policy = access.policies.get(from);
  if (asker === undefined || policy === undefined) return "refused";
  if (isApiServer(name) && reachesApiServer(policy)) return { addresses: [apiServerAddress] };
  const found = podsNamed(name, access);
  if (found === undefined) return isOwnReverse(name, access) ? { addresses: [] } : outside(policy, access);
  const { namespace, pods, address } = found;
  const visible = namespace === asker.namespace ? pods : pods.filter((pod) => reaches(asker, pod, access));
  if (address === undefined) return { addresses: visible.map((pod) => pod.address) };
  return { addresses: namespace === asker.namespace || visible.length > 0 ? [address] : [] };
}

const isApiServer = (name: string): boolean =>
  name.toLowerCase().replace(/\.$/, "") === "kubernetes.default.svc.cluster.local";

function outside(policy: PodPolicy, { subnet }: NameAccess): NameAnswer {
  return mayLeave(policy.egress, subnet) ? "ask-others" : "refused";
}

/** Whether egress rules allow any address outside the cluster. `undefined` means that there are no rules. */
export function mayLeave(egress: readonly Allowance[] | undefined, subnet: string): boolean {
  if (egress === undefined) return true;
  const within = [subnet, serviceRange, "169.254.0.0/16", "127.0.0.0/8"].flatMap((text) => {
    const network = parseSubnet(text);
    return network === undefined ? [] : [rangeOf(network)];
  });
  const leads = (range: Range): boolean => without(range, within).length > 0;
  return egress.some(({ addresses }) => addresses === undefined || addresses.some(leads));
}

/** Whether the policies of both Pods allow a connection to some port. */
function reaches(from: ServingPod, to: ServingPod, { policies }: NameAccess): boolean {
  const sender = policies.get(from.address);
  const receiver = policies.get(to.address);
  if (sender === undefined || receiver === undefined) return false;
  const sends = sender.egress === undefined || allows(sender.egress, to.address);
  const receives =
    receiver.ingress === undefined ? from.namespace === to.namespace : allows(receiver.ingress, from.address);
  return sends && receives;
}

function allows(allowances: readonly Allowance[], address: string): boolean {
  const value = parseAddress(address);
  return allowances.some(
    ({ addresses, ports }) =>
      ports?.length !== 0 && (addresses === undefined || (value !== undefined && includes(addresses, value))),
  );
}

/** Whether the name is a reverse lookup of a Pod or Service address, which no other server knows. */
function isOwnReverse(name: string, { subnet }: NameAccess): boolean {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa\.?$/i.exec(name)?.slice(1).toReversed();
  const address = parseSubnet(parts?.join(".") ?? "");
  if (address === undefined) return false;
  return [subnet, serviceRange].some((text) => {
    const network = parseSubnet(text);
    return network !== undefined && overlap(network, address);
  });
}
