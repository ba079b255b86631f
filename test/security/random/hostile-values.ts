import type { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import type { World } from "../world.ts";
import * as pools from "./hostile-pools.ts";
import { trustedNames } from "./trusted-names.ts";

/** The attacker's targets, and values that a component might mistake for others. */
export interface Prey {
  /** Addresses of the victim. They are chosen more often than others. */
  readonly victims: readonly string[];
  readonly uids: readonly string[];
  readonly addresses: readonly string[];
  readonly names: readonly string[];
  readonly paths: readonly string[];
  readonly texts: readonly string[];
  /** Keys of labels and annotations. */
  readonly keys: readonly string[];
}

export function preyOf({ alice, box, machine }: World): Prey {
  const { pods, uids } = alice.record;
  const podAddresses = Object.values(pods).map(({ address }) => address);
  const gateways = podAddresses.map((address) => address.replace(/\.\d+$/, ".1"));
  const planted = `${machine.sentinel}/planted`;
  // A component that runs one of these as a command changes the sentinel folder, which the monitor reports.
  const commands = [`$(touch ${planted})`, `\`touch ${planted}\``, `'; touch ${planted}; '`, `"; touch ${planted} #`];
  return {
    victims: podAddresses,
    uids: [...Object.values(uids), ...Object.values(pods).map(({ uid }) => uid), "../../../x", unknownUid],
    addresses: [...podAddresses, ...gateways, ...pools.addresses],
    names: [...pools.names, `pvc-${uids["ledger"]}`, ...Object.values(uids)],
    paths: [...pools.paths, box.dataDir, `${box.dataDir}/kubeconfig`, machine.sentinel, `${machine.sentinel}/private`],
    texts: [...pools.texts, ...commands],
    keys: [...trustedNames(), "role", "app", "new", "a/b/c", "x\ny", "-", "x".repeat(400)],
  };
}

const unknownUid = "00000000-0000-4000-8000-000000000000";

/** A hostile value for a field of this name. Usually it fits the field, such as an address; sometimes it is of another type. */
export function hostileText(random: Random, field: string, prey: Prey): string {
  const { addresses, names, paths, texts, uids } = prey;
  if (random.chance(0.1))
    return random.pick(random.pick([addresses, names, paths, texts, uids, pools.images, pools.quantities]));
  const family = families(prey).find(([pattern]) => pattern.test(field));
  if (family?.[1] === addresses && random.chance(0.3)) return random.pick(prey.victims);
  return random.pick(family?.[1] ?? [...texts, ...names]);
}

const families = (prey: Prey): readonly (readonly [RegExp, readonly string[]])[] => [
  [/sysctl/i, pools.sysctls],
  [/finalizer/i, pools.finalizers],
  [/image/i, pools.images],
  [/uid/i, prey.uids],
  [/time|timestamp|before|after$/i, pools.times],
  [/cpu|memory|storage|quantity|sizeLimit|limit|request|divisor/i, pools.quantities],
  [/ip$|ips$|address|host|cidr|except|server|external|cname|domain/i, prey.addresses],
  [/path|dir$|mount|file|device/i, prey.paths],
  [/name|ref$|class|account|kind|key|selector|group|audience|search|user/i, prey.names],
];

export function hostileNumber(random: Random, field: string): number {
  return random.pick(/replicas|parallelism|completions/i.test(field) ? pools.replicas : pools.numbers);
}

/** Chooses the product's own labels and annotations more often than those of Kubernetes. */
export function hostileKey(random: Random, prey: Prey): string {
  return random.pick(random.chance(0.5) ? prey.keys.filter((key) => key.startsWith("agents.x-k8s.io/")) : prey.keys);
}

const owners = [
  ["agents.x-k8s.io/v1beta1", "Sandbox"],
  ["extensions.agents.x-k8s.io/v1beta1", "SandboxClaim"],
  ["extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool"],
  ["v1", "Pod"],
  ["v1", "Namespace"],
  ["v1", "Node"],
] as const;

/** An owner reference to an object of another tenant. */
export function forgedOwner(random: Random, prey: Prey): object {
  const [apiVersion, kind] = random.pick(owners);
  const flags = { controller: random.chance(0.7), blockOwnerDeletion: random.chance(0.3) };
  return { apiVersion, kind, name: random.pick(prey.names), uid: random.pick(prey.uids), ...flags };
}
