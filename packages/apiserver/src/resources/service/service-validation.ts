import type { FieldError } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { equalJson } from "../../json.ts";
import { duplicate, forbidden, invalidValue, required } from "../field-problems.ts";
import { labelField, oneOf, optionalOneOf, portOrNameProblems, portProblems } from "../field-rules.ts";
import { ipProblems } from "../ip-address.ts";
import { labelMapProblems } from "../label-selector.ts";
import { subdomainProblems } from "../names.ts";

const protocols = ["SCTP", "TCP", "UDP"];

/** The rules of a Service that a schema cannot express. */
export function validateService(service: ApiObject, old: ApiObject | undefined): readonly FieldError[] {
  const spec = service["spec"];
  if (!isJsonObject(spec)) return [required("spec")];
  const headless = spec["clusterIP"] === "None";
  const portless = objectsAt(spec, "ports").length === 0 && !headless && spec["type"] !== "ExternalName";
  return [
    ...addressChanges(spec, old?.["spec"]),
    ...(portless ? [required("spec.ports")] : []),
    ...typeProblems(spec, headless),
    ...allPortProblems(spec),
    ...labelMapProblems(spec["selector"], "spec.selector"),
    ...oneOf(spec, "sessionAffinity", "spec", ["ClientIP", "None"]),
    ...addressProblems(spec),
    ...oneOf(spec, "type", "spec", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ...trafficProblems(spec),
    ...statusProblems(service, spec),
  ];
}

/** Only a Service of type LoadBalancer has load balancer addresses. */
function statusProblems(service: ApiObject, { type }: JsonObject): FieldError[] {
  const field = "status.loadBalancer.ingress";
  const points = objectsAt(service, "status", "loadBalancer", "ingress");
  if (points.length > 0 && type !== "LoadBalancer") {
    return [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return points.flatMap((point, at) => {
    const [ip = "", hostname = ""] = [stringAt(point, "ip"), stringAt(point, "hostname")];
    return [
      ...(ip === "" ? [] : ipProblems(ip, `${field}[${at}].ip`)),
      ...(hostname === ""
        ? []
        : subdomainProblems(hostname).map((problem) => invalidValue(`${field}[${at}].hostname`, hostname, problem))),
    ];
  });
}

/** The address of a Service cannot change, unless its new type has none. */
function addressChanges(spec: JsonObject, old: unknown): FieldError[] {
  if (!isJsonObject(old) || [spec["type"], old["type"]].includes("ExternalName")) return [];
  const before = old["clusterIPs"];
  const after = spec["clusterIPs"];
  if (!Array.isArray(before) || equalJson(before, after)) return [];
  if (!Array.isArray(after) || after.length === 0) {
    return [invalidValue("spec.clusterIPs[0]", after ?? null, "primary clusterIP can not be unset")];
  }
  return after[0] === before[0] ? [] : [invalidValue("spec.clusterIPs[0]", after, "may not change once set")];
}

function typeProblems(spec: JsonObject, headless: boolean): FieldError[] {
  const type = String(spec["type"]);
  if (headless && (type === "LoadBalancer" || type === "NodePort")) {
    return [invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)];
  }
  if (type !== "ExternalName") return [];
  const why = "may not be set for ExternalName services";
  const name = (stringAt(spec, "externalName") ?? "").replace(/\.$/, "");
  const addressed = spec["clusterIPs"] !== undefined || (stringAt(spec, "clusterIP") ?? "") !== "";
  return [
    ...(addressed ? [forbidden("spec.clusterIPs", why)] : []),
    ...["ipFamilies", "ipFamilyPolicy"].flatMap((key) =>
      spec[key] === undefined ? [] : [forbidden(`spec.${key}`, why)],
    ),
    ...(name === ""
      ? [required("spec.externalName")]
      : subdomainProblems(name).map((problem) => invalidValue("spec.externalName", name, problem))),
  ];
}

function allPortProblems(spec: JsonObject): FieldError[] {
  const ports = objectsAt(spec, "ports");
  const seen = { names: new Set<unknown>(), ports: new Set<string>(), nodePorts: new Set<string>() };
  return ports.flatMap((port, at) => {
    const path = `spec.ports[${at}]`;
    const { protocol, nodePort = 0 } = port;
    const number = `${String(protocol)} ${String(port["port"])}`;
    const outer = `${String(protocol)} ${String(nodePort)}`;
    const problems = [
      ...portNameFieldProblems(port, path, { required: ports.length > 1, seen: seen.names }),
      ...portProblems(`${path}.port`, port["port"]),
      ...oneOf(port, "protocol", path, protocols),
      ...portOrNameProblems(`${path}.targetPort`, port["targetPort"]),
      ...(nodePort !== 0 && spec["type"] === "ClusterIP"
        ? [forbidden(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'")]
        : []),
      ...(nodePort !== 0 && seen.nodePorts.has(outer) ? [duplicate(`${path}.nodePort`, nodePort)] : []),
      ...(seen.ports.has(number) ? [duplicate(path, { port: port["port"], protocol })] : []),
    ];
    seen.ports.add(number);
    seen.nodePorts.add(outer);
    return problems;
  });
}

function portNameFieldProblems(
  port: JsonObject,
  path: string,
  { required: needed, seen }: { required: boolean; seen: Set<unknown> },
): FieldError[] {
  const name = port["name"] ?? "";
  if (name === "") return needed ? [required(`${path}.name`)] : [];
  const repeated = seen.has(name);
  seen.add(name);
  return [...labelField(port, "name", path), ...(repeated ? [duplicate(`${path}.name`, name)] : [])];
}

function addressProblems(spec: JsonObject): FieldError[] {
  const { clusterIPs } = spec;
  const address = stringAt(spec, "clusterIP") ?? "";
  if (address === "" || address === "None") return [];
  const first: unknown = Array.isArray(clusterIPs) ? clusterIPs[0] : undefined;
  return [
    ...(first === address ? [] : [invalidValue("spec.clusterIPs", clusterIPs, "first value must match `clusterIP`")]),
    ...ipProblems(address, "spec.clusterIPs[0]"),
  ];
}

function trafficProblems(spec: JsonObject): FieldError[] {
  const balanced = spec["type"] === "LoadBalancer";
  return [
    ...(spec["allocateLoadBalancerNodePorts"] !== undefined && !balanced
      ? [forbidden("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'")]
      : []),
    ...optionalOneOf(spec, "externalTrafficPolicy", "spec", ["Cluster", "Local"]),
    ...optionalOneOf(spec, "internalTrafficPolicy", "spec", ["Cluster", "Local"]),
  ];
}
