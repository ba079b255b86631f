import { serviceRange } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { formatSubnet, overlap, parseSubnet, type Subnet } from "./subnet.ts";

/** Room for 4,093 Pods: `vethPrefix` leaves four hex digits, so the network must not be wider than /16. */
const prefix = 20;
const widest = 16;
/** 10.192.0.0/10 holds 1,024 such networks; few other programs take from that end of 10.0.0.0/8. */
const first = 0x0ac00000;
const candidates = 1024;

/**
 * The network for the Pods. A wanted one is checked against what the machine already routes; without one, the search
 * starts at a place that depends on the instance, so that two nodes rarely meet, and goes on to the next free one.
 */
export function chooseSubnet(wanted: string | undefined, instanceId: string, inUse: readonly Subnet[]): Subnet {
  if (wanted !== undefined) return checked(wanted, inUse);
  const start = Number.parseInt(instanceId.slice(0, 4), 16);
  for (let tried = 0; tried < candidates; tried++) {
    const subnet = { base: first + ((start + tried) % candidates) * 2 ** (32 - prefix), prefix };
    if (!inUse.some((other) => overlap(subnet, other))) return subnet;
  }
  throw new NodeError(
    "NodeSetup",
    "Cannot choose a network for Pods: all of 10.192.0.0/10 is in use; name one with `subnet`",
  );
}

function checked(wanted: string, inUse: readonly Subnet[]): Subnet {
  const subnet = parseSubnet(wanted);
  if (subnet === undefined || subnet.prefix < widest || subnet.prefix > 29) {
    throw new NodeError(
      "NodeSetup",
      `Cannot use subnet "${wanted}": an IPv4 network between /${widest} and /29 is needed`,
    );
  }
  const services = parseSubnet(serviceRange);
  if (services !== undefined && overlap(subnet, services)) {
    throw new NodeError("NodeSetup", `Cannot use subnet "${wanted}": the addresses of Services are in ${serviceRange}`);
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
