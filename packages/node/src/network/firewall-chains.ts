import type { Allowance, PodPolicy, PortRanges } from "./policy.ts";
import { formatAddresses, lastAddress, type Range } from "./ranges.ts";

type Direction = "ingress" | "egress";

export interface ChainTexts {
  readonly chains: readonly string[];
  /** Elements of an nft map from each Pod's address to a verdict. */
  readonly verdicts: readonly string[];
}

/** The chains of one direction. Pods with the same rules share a chain. `otherwise` is the verdict for Pods without a policy. */
export function chainTexts(
  direction: Direction,
  policies: readonly PodPolicy[],
  otherwise: (policy: PodPolicy) => string,
): ChainTexts {
  const names = new Map<readonly Allowance[], string>();
  const verdicts = policies.map((policy) => {
    const allowances = policy[direction];
    if (allowances === undefined) return `${policy.address} : ${otherwise(policy)}`;
    const name = names.get(allowances) ?? `${direction}_${names.size}`;
    names.set(allowances, name);
    return `${policy.address} : jump ${name}`;
  });
  return { verdicts, chains: [...names].map(([allowances, name]) => chainText(name, direction, allowances)) };
}

/** A chain that returns for allowed packets and drops the rest. */
function chainText(name: string, direction: Direction, allowances: readonly Allowance[]): string {
  const rules = allowances.flatMap((one) => rulesOf(direction, one)).map((rule) => `    ${rule}return\n`);
  return `  chain ${name} {\n${rules.join("")}    drop\n  }`;
}

function rulesOf(direction: Direction, { addresses, ports }: Allowance): string[] {
  if (addresses?.length === 0) return [];
  const address = addressMatch(direction, addresses);
  return ports === undefined ? [address] : ports.map((each) => `${address}${portMatch(each)}`);
}

function addressMatch(direction: Direction, addresses: readonly Range[] | undefined): string {
  if (addresses === undefined || addresses.some(({ from, to }) => from === 0 && to === lastAddress)) return "";
  return `ip ${direction === "ingress" ? "saddr" : "daddr"} { ${addresses.map(formatAddresses).join(", ")} } `;
}

function portMatch({ protocol, ports }: PortRanges): string {
  if (ports === undefined) return `meta l4proto ${protocol} `;
  return `${protocol} dport { ${ports.map(({ from, to }) => (from === to ? from : `${from}-${to}`)).join(", ")} } `;
}
