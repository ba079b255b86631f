import { serviceRange } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { formatSubnet, overlap, parseSubnet, type Subnet } from "./subnet.ts";

/** /20 has room for 4,093 Pods. Interface names have four hex digits for the Pod, so the network is at most a /16. */
const prefix = 20;
const widest = 16;
/** 10.192.0.0/10 has 1,024 such networks, and few other programs use this part of 10.0.0.0/8. */
const first = 0x0ac00000;
const candidates = 1024;

/**
 * Chooses the Pod network. A configured one must not overlap the machine's routes. Otherwise the search for a free one starts
 * at a network that depends on the instance id, so that two nodes rarely choose the same.
 */
export function chooseSubnet(wanted: string | undefined, instanceId: string, inUse: readonly Subnet[]): Subnet {
  if (wanted !== undefined) return checked(wanted, inUse);
  const start = Number.parseInt(instanceId.slice(0, 4), 16);
  for (let tried = 0; tried < candidates; tried++) {
    const subnet = { base: first + ((start + tried) % candidates) * 2 ** (32 - prefix), prefix };
    if (!inUse.some((other) => overlap(subnet, other))) return subnet;
  }
  throw new NodeError("NodeSetup", "Cannot choose a network for Pods: all of 10.192.0.0/10 is in use; set `subnet`");
}

function checked(wanted: string, inUse: readonly Subnet[]): Subnet {
  const subnet = parseSubnet(wanted);
  if (subnet === undefined || subnet.prefix < widest || subnet.prefix > 29) {
    throw new NodeError(
      "NodeSetup",
      `Cannot use subnet "${wanted}": it must be an IPv4 network between /${widest} and /29`,
    );
  }
  const services = parseSubnet(serviceRange);
  if (services !== undefined && overlap(subnet, services)) {
    throw new NodeError("NodeSetup", `Cannot use subnet "${wanted}": it overlaps the Service range ${serviceRange}`);
  }
  const other = inUse.find((used) => overlap(subnet, used));
  if (other !== undefined) {
    throw new NodeError(
      "NodeSetup",
      `Cannot use subnet "${wanted}": the machine already routes "${formatSubnet(other)}"`,
    );
  }
  return subnet;
}
