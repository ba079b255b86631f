import { type ApiObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { none } from "./column.ts";

/** The maximum number of endpoints listed; the rest are counted. */
const mostShown = 3;

export function endpointAddresses(endpoints: ApiObject): string {
  const all = objectsAt(endpoints, "subsets").flatMap((subset) => {
    const addresses = objectsAt(subset, "addresses").map((address) => stringAt(address, "ip") ?? "");
    const ports = objectsAt(subset, "ports").map((port) => Number(port["port"]));
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) =>
      addresses.map((address) => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`)),
    );
  });
  return shortened(all, none);
}

export function slicePorts(slice: ApiObject): string {
  const ports = objectsAt(slice, "ports").map((port) => {
    const number = valueAt(port, "port");
    return typeof number === "number" ? String(number) : stringAt(port, "name") || "*";
  });
  return shortened(ports, "<unset>");
}

export function sliceEndpoints(slice: ApiObject): string {
  const addresses = objectsAt(slice, "endpoints").flatMap(({ addresses: each }) =>
    Array.isArray(each) ? each.map(String) : [],
  );
  return shortened(addresses, "<unset>");
}

function shortened(values: readonly string[], nothing: string): string {
  if (values.length === 0) return nothing;
  const more = values.length - mostShown;
  return values.slice(0, mostShown).join(",") + (more > 0 ? ` + ${more} more...` : "");
}
