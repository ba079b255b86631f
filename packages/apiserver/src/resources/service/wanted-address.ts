import { isIPv4, isIPv6 } from "node:net";
import type { FieldError } from "../../api-error.ts";
import type { JsonObject } from "../../api-object.ts";
import { invalidValue } from "../field-problems.ts";
import type { ServiceAddresses } from "./service-addresses.ts";

interface WantedAddress {
  readonly spec: JsonObject;
  readonly address: string;
  /** The address that the Service has already. */
  readonly before: string | undefined;
}

/**
 * Why a Service cannot have the address it asks for, in kube-apiserver's words. Whoever chooses an address outside the
 * range of Services could take traffic that is meant for others. Text that is not an address is left to the validation.
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
  // Only `None` and an address of the range are ever given to a Service; a change from one to another is refused later.
  if (!isIPv4(address) || (before !== undefined && before !== "")) return [];
  const problem = addresses.addressProblem(address);
  const value = all.length > 0 ? all : [address];
  return problem === undefined
    ? []
    : [invalidValue("spec.clusterIPs", value, `failed to allocate IP ${address}: ${problem}`)];
}
