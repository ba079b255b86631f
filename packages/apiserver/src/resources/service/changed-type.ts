import { type ApiObject, isJsonObject, type JsonObject, objectsAt } from "../../api-object.ts";
import { equalJson } from "../../json.ts";

const hasNodePorts = ({ type }: JsonObject): boolean => type === "NodePort" || type === "LoadBalancer";

/** Fields that only some types of Services have. */
interface Dependent {
  readonly fields: readonly string[];
  readonly needs: (spec: JsonObject) => boolean;
}

const dependents: readonly Dependent[] = [
  {
    fields: ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"],
    needs: ({ type }) => type !== "ExternalName",
  },
  { fields: ["externalTrafficPolicy"], needs: hasNodePorts },
  { fields: ["allocateLoadBalancerNodePorts", "loadBalancerClass"], needs: ({ type }) => type === "LoadBalancer" },
];

/** Removes the fields of the former type of a Service, unless the update changed them. */
export function withoutFormerType(service: ApiObject, old: ApiObject): ApiObject {
  const [spec, before] = [service["spec"], old["spec"]];
  if (!isJsonObject(spec) || !isJsonObject(before) || spec["type"] === before["type"]) return service;
  const idle = dependents
    .filter(({ needs }) => needs(before) && !needs(spec))
    .flatMap(({ fields }) => fields.filter((field) => equalJson(spec[field], before[field])));
  const kept = Object.fromEntries(Object.entries(spec).filter(([field]) => !idle.includes(field)));
  return { ...service, spec: hasNodePorts(before) && !hasNodePorts(spec) ? withoutNodePorts(kept, before) : kept };
}

function withoutNodePorts(spec: JsonObject, before: JsonObject): JsonObject {
  const ports = objectsAt(spec, "ports");
  const numbers = (list: readonly JsonObject[]): unknown[] => list.map(({ nodePort = 0 }) => nodePort);
  if (!equalJson(numbers(ports), numbers(objectsAt(before, "ports")))) return spec;
  return { ...spec, ports: ports.map(({ nodePort: _nodePort, ...port }) => port) };
}
