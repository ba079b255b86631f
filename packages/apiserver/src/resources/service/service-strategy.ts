import { type ErrorSubject, invalid } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import type { AdmissionContext, Strategy } from "../definition.ts";
import { invalidValue } from "../field-problems.ts";
import { withoutFormerType } from "./changed-type.ts";
import type { ServiceAddresses } from "./service-addresses.ts";
import { validateService } from "./service-validation.ts";
import { wantedAddressProblems } from "./wanted-address.ts";

export const serviceStrategy: Strategy = {
  setDefaults: (service) => withSpec(service, setSpecDefaults),
  prepareCreate: (service, context) => ({ ...allocate(service, context), status: { loadBalancer: {} } }),
  prepareUpdate: (service, old, context) => allocate(keepAddresses(withoutFormerType(service, old), old), context, old),
  validate: validateService,
  selectableFields: {
    "spec.clusterIP": (service) => stringAt(service, "spec", "clusterIP") ?? "",
    "spec.type": (service) => stringAt(service, "spec", "type") ?? "",
  },
};

function withSpec(service: ApiObject, change: (spec: JsonObject) => JsonObject): ApiObject {
  const spec = service["spec"];
  return isJsonObject(spec) ? { ...service, spec: change(spec) } : service;
}

const external = ["NodePort", "LoadBalancer"];

function setSpecDefaults(given: JsonObject): JsonObject {
  const { sessionAffinityConfig, ...rest } = given;
  const type = given["type"] || "ClusterIP";
  const affinity = given["sessionAffinity"] || "None";
  const outside =
    external.some((each) => each === type) || (type === "ClusterIP" && lengthOf(given["externalIPs"]) > 0);
  return {
    ...(outside ? { externalTrafficPolicy: "Cluster" } : {}),
    ...(type === "ExternalName" ? {} : { internalTrafficPolicy: "Cluster" }),
    ...(type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: true } : {}),
    ...rest,
    type,
    sessionAffinity: affinity,
    ...(affinity === "ClientIP" ? { sessionAffinityConfig: sessionAffinityConfig ?? clientAffinity } : {}),
    ...(Array.isArray(given["ports"]) ? { ports: given["ports"].map(setPortDefaults) } : {}),
  };
}

const clientAffinity = { clientIP: { timeoutSeconds: 10_800 } };

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

function setPortDefaults(port: unknown): unknown {
  if (!isJsonObject(port)) return port;
  const { targetPort } = port;
  return targetPort === undefined || targetPort === 0 || targetPort === ""
    ? { ...port, targetPort: port["port"] }
    : port;
}

/** An update that omits the addresses of a Service keeps them. */
function keepAddresses(service: ApiObject, old: ApiObject): ApiObject {
  return withSpec(service, (spec) => {
    const before = old["spec"];
    if (!isJsonObject(before) || spec["type"] === "ExternalName") return spec;
    const kept = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"].filter(
      (key) => (spec[key] ?? "") === "" && before[key] !== undefined,
    );
    return { ...spec, ...Object.fromEntries(kept.map((key) => [key, before[key]])) };
  });
}

/** Allocates an address and node ports, if the type of the Service needs them. Requested ones must be free. */
function allocate(service: ApiObject, { addresses }: Pick<AdmissionContext, "addresses">, old?: ApiObject): ApiObject {
  return withSpec(service, (spec) => {
    if (spec["type"] === "ExternalName") return spec;
    const clusterIP = spec["clusterIP"] || (Array.isArray(spec["clusterIPs"]) ? spec["clusterIPs"][0] : "");
    const address = typeof clusterIP === "string" && clusterIP !== "" ? clusterIP : free(service, addresses);
    const problems = wantedAddressProblems({ spec, address, before: addressBefore(old) }, addresses);
    if (problems.length > 0) throw invalid("Service", subjectOf(service), problems);
    // Without an address and a selector, the endpoints decide which IP families there are.
    const open = address === "None" && spec["selector"] === undefined;
    return {
      ...spec,
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: spec["ipFamilies"] ?? (open ? ["IPv4", "IPv6"] : ["IPv4"]),
      ipFamilyPolicy: spec["ipFamilyPolicy"] ?? (open ? "RequireDualStack" : "SingleStack"),
      ...nodePorts(service, spec, { addresses, old }),
    };
  });
}

/** An ExternalName Service has no address, so a `clusterIP` in it does not count. */
const addressBefore = (old: ApiObject | undefined): string | undefined =>
  stringAt(old, "spec", "type") === "ExternalName" ? undefined : stringAt(old, "spec", "clusterIP");

function free(service: ApiObject, addresses: ServiceAddresses): string {
  const address = addresses.address();
  if (address !== undefined) return address;
  throw refused(service, "spec.clusterIPs", ["range is full"]);
}

interface Allocation {
  readonly addresses: ServiceAddresses;
  readonly old: ApiObject | undefined;
}

function nodePorts(service: ApiObject, spec: JsonObject, { addresses, old }: Allocation): JsonObject {
  const wanted =
    spec["type"] === "NodePort" || (spec["type"] === "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] !== false);
  if (!wanted || !Array.isArray(spec["ports"])) return {};
  const own = new Set(objectsAt(old, "spec", "ports").map((port) => port["nodePort"]));
  const ports = objectsAt(spec, "ports").map((port, at) => {
    const wish = port["nodePort"];
    if (typeof wish === "number" && wish !== 0) {
      const problem = own.has(wish) ? undefined : addresses.nodePortProblem(wish);
      if (problem === undefined) return port;
      throw invalid("Service", subjectOf(service), [invalidValue(`spec.ports[${at}].nodePort`, wish, problem)]);
    }
    const nodePort = addresses.nodePort();
    if (nodePort === undefined) throw refused(service, "spec.ports", ["range is full"]);
    return { ...port, nodePort };
  });
  return { ports };
}

const subjectOf = ({ metadata: { name = "" } }: ApiObject): ErrorSubject => ({ group: "", plural: "services", name });

function refused(service: ApiObject, field: string, [why]: readonly [string]): Error {
  return invalid("Service", subjectOf(service), [invalidValue(field, null, `failed to allocate: ${why}`)]);
}
