import { isIPv4, isIPv6 } from "node:net";
import type { FieldError } from "../../api-error.ts";
import type { JsonObject } from "../../api-object.ts";
import { invalidValue } from "../field-problems.ts";
import type { ServiceAddresses } from "./service-addresses.ts";

interface WantedAddress {
  readonly spec: JsonObject;
  readonly address: string;
  /** The current address of the Service. */
  readonly before: string | undefined;
}

/**
 * Why a Service cannot have the requested address, in the words of kube-apiserver. A tenant that could choose an address
 * outside the range of Services could intercept traffic to other destinations. Validation reports invalid addresses.
 */
export function wantedAddressProblems(wanted: WantedAddress, addresses: ServiceAddresses): FieldError[] {
  const { spec, address, before } = wanted;
  if (address === "None" || address === before) return [];
  const all: readonly unknown[] = Array.isArray(spec["clusterIPs"]) ? spec["clusterIPs"] : [address];
  if (before === undefined) {
    if (all.length > 0 && all[0] !== address) {
      return [invalidValue("spec.clusterIPs", all, "first value must match `clusterIP`")];
    }
    if (all.filter((each) => isIPv4(String(each))).length > 1) {
      return [invalidValue("spec.clusterIPs", all, "may specify no more than one IP for each IP family")];
    }
    const other = all.findIndex((each) => isIPv6(String(each)));
    if (other >= 0) return [invalidValue(`spec.ipFamilies[${other}]`, "IPv6", "not configured on this cluster")];
  }
  // A Service with an address has `None` or one of the range. Validation refuses a change.
  if (!isIPv4(address) || (before !== undefined && before !== "")) return [];
  const problem = addresses.addressProblem(address);
  const value = all.length > 0 ? all : [address];
  return problem === undefined
    ? []
    : [invalidValue("spec.clusterIPs", value, `failed to allocate IP ${address}: ${problem}`)];
}
