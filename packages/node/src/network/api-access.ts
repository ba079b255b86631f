import { apiServerAddress, apiServerPort, type Pod } from "@agent-sandbox/api";
import type { Allowance, PodPolicy } from "./policy.ts";
import { includes } from "./ranges.ts";
import { parseAddress } from "./subnet.ts";

/** The API server as Pods that ask for their service account reach it. */
export interface ApiServerPlace {
  /** Where the API server listens on the machine. */
  readonly host: string;
  readonly port: number;
  /** The certificate authority that its clients must trust, in PEM. */
  readonly authority: string;
}

/** Whether a Pod asks for the token of its service account. Unlike in Kubernetes, it must do so itself. */
export const asksForAccount = ({ spec }: Pod): boolean => spec?.automountServiceAccountToken === true;

/**
 * Whether a Pod can reach the API server: it asks for its service account, and an egress rule of a NetworkPolicy allows the address.
 * Without an egress policy it cannot, although it can reach everything else then.
 */
export function reachesApiServer({ asksForAccount: asks = false, egress }: PodPolicy): boolean {
  return asks && egress !== undefined && egress.some(allowsApiServer);
}

const address = parseAddress(apiServerAddress) ?? 0;

function allowsApiServer({ addresses, ports }: Allowance): boolean {
  const allowsAddress = addresses === undefined || includes(addresses, address);
  const allowsPort =
    ports === undefined ||
    ports.some(
      ({ protocol, ports: ranges }) =>
        protocol === "tcp" &&
        (ranges === undefined || ranges.some(({ from, to }) => from <= apiServerPort && apiServerPort <= to)),
    );
  return allowsAddress && allowsPort;
}
