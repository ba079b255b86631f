import { type ApiObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { joined, none } from "./column.ts";

export function servicePorts(service: ApiObject): string {
  const ports = objectsAt(service, "spec", "ports").map(({ port, nodePort = 0, protocol }) => {
    const outside = nodePort === 0 ? "" : `:${String(nodePort)}`;
    return `${String(port)}${outside}/${String(protocol)}`;
  });
  return joined(ports);
}

/** The addresses of a Service outside the cluster. */
export function externalAddresses(service: ApiObject): string {
  const given = valueAt(service, "spec", "externalIPs");
  switch (stringAt(service, "spec", "type")) {
    case "ExternalName":
      return stringAt(service, "spec", "externalName") ?? none;
    case "LoadBalancer": {
      const balanced = objectsAt(service, "status", "loadBalancer", "ingress").map(
        (each) => stringAt(each, "ip") ?? stringAt(each, "hostname") ?? "",
      );
      const all = [...balanced, ...(Array.isArray(given) ? given.map(String) : [])];
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    default:
      return joined(given);
  }
}
