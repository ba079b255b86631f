import { serviceRange } from "@agent-sandbox/api";
import { type NameView, podsNamed } from "./names.ts";
import type { Allowance, PodPolicy } from "./policy.ts";
import { includes, type Range, rangeOf, without } from "./ranges.ts";
import type { ServingPod } from "./services.ts";
import { overlap, parseAddress, parseSubnet } from "./subnet.ts";

/** What is known when a Pod asks for a name. */
export interface NameAccess extends NameView {
  /** The policies in force, by the Pods' addresses. */
  readonly policies: ReadonlyMap<string, PodPolicy>;
  /** The Pods on the network, by their addresses. */
  readonly podsAt: ReadonlyMap<string, ServingPod>;
  /** The Pods' network. */
  readonly subnet: string;
}

export type NameAnswer =
  /** The cluster's name: empty when there is none that this Pod may know. */
  | { readonly addresses: readonly string[] }
  /** Not the cluster's name, and this Pod may ask other name servers. */
  | "ask-others"
  | "refused";

/**
 * What a Pod learns about a name. Names of its own namespace are its own; of a name in another namespace it learns the Pods that it
 * could reach, and without any the name does not exist for it. Names outside the cluster are for Pods that may send there.
 */
export function answerFor(from: string, name: string, access: NameAccess): NameAnswer {
  const asker = access.podsAt.get(from);
  const policy = access.policies.get(from);
  if (asker === undefined || policy === undefined) return "refused";
  const found = podsNamed(name, access);
  if (found === undefined) return isOwnReverse(name, access) ? { addresses: [] } : outside(policy, access);
  const { namespace, pods, address } = found;
  const visible = namespace === asker.namespace ? pods : pods.filter((pod) => reaches(asker, pod, access));
  if (address === undefined) return { addresses: visible.map((pod) => pod.address) };
  return { addresses: namespace === asker.namespace || visible.length > 0 ? [address] : [] };
}

function outside(policy: PodPolicy, { subnet }: NameAccess): NameAnswer {
  return mayLeave(policy.egress, subnet) ? "ask-others" : "refused";
}

/** Whether a Pod may send anything to the outside; `undefined` stands for no rules at all. */
export function mayLeave(egress: readonly Allowance[] | undefined, subnet: string): boolean {
  if (egress === undefined) return true;
  const within = [subnet, serviceRange, "169.254.0.0/16", "127.0.0.0/8"].flatMap((text) => {
    const network = parseSubnet(text);
    return network === undefined ? [] : [rangeOf(network)];
  });
  const leads = (range: Range): boolean => without(range, within).length > 0;
  return egress.some(({ addresses }) => addresses === undefined || addresses.some(leads));
}

/** Whether some port of a Pod is open to another by the policies of both. */
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

/** Names of our own addresses, which nobody else knows about: other servers are not asked. */
function isOwnReverse(name: string, { subnet }: NameAccess): boolean {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa\.?$/i.exec(name)?.slice(1).toReversed();
  const address = parseSubnet(parts?.join(".") ?? "");
  if (address === undefined) return false;
  return [subnet, serviceRange].some((text) => {
    const network = parseSubnet(text);
    return network !== undefined && overlap(network, address);
  });
}
