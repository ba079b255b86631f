import { isIPv4, isIPv6 } from "node:net";
import type { FieldError } from "../api-error.ts";
import { type ApiObject, type JsonObject, objectsAt, stringAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Strategy } from "./definition.ts";
import { duplicate, immutable, invalidValue, required, tooMany } from "./field-problems.ts";
import { labelField, oneOf, portProblems } from "./field-rules.ts";
import { ipProblems, isIp } from "./ip-address.ts";
import { labelProblems, qualifiedNameProblems, subdomainProblems } from "./names.ts";

const protocols = ["SCTP", "TCP", "UDP"];

/** Unchanged subsets are not validated, because they may have been stored before a rule was added. */
export const endpointsStrategy: Strategy = {
  validate: (endpoints, old) => {
    const problems = objectsAt(endpoints, "subsets").flatMap(subsetProblems);
    return problems.length > 0 && old !== undefined && equalJson(endpoints["subsets"], old["subsets"]) ? [] : problems;
  },
};

function subsetProblems(subset: JsonObject, at: number): FieldError[] {
  const path = `subsets[${at}]`;
  const [ready, notReady, ports] = ["addresses", "notReadyAddresses", "ports"].map((key) => objectsAt(subset, key));
  const none = ready?.length === 0 && notReady?.length === 0;
  return [
    ...(none ? [required(path, "must specify `addresses` or `notReadyAddresses`")] : []),
    ...(ready ?? []).flatMap((each, index) => subsetAddressProblems(each, `${path}.addresses[${index}]`)),
    ...(notReady ?? []).flatMap((each, index) => subsetAddressProblems(each, `${path}.notReadyAddresses[${index}]`)),
    ...(ports ?? []).flatMap((port, index) =>
      subsetPortProblems(port, `${path}.ports[${index}]`, (ports ?? []).length > 1),
    ),
  ];
}

function subsetAddressProblems(address: JsonObject, path: string): FieldError[] {
  const ip = stringAt(address, "ip") ?? "";
  const nodeName = stringAt(address, "nodeName");
  return [
    ...ipProblems(ip, `${path}.ip`),
    ...((address["hostname"] ?? "") === "" ? [] : labelField(address, "hostname", path)),
    ...(nodeName === undefined
      ? []
      : subdomainProblems(nodeName).map((problem) => invalidValue(`${path}.nodeName`, nodeName, problem))),
    ...reachableProblems(ip, `${path}.ip`),
  ];
}

/** Refuses addresses that are valid only on one machine or link. */
function reachableProblems(ip: string, field: string): FieldError[] {
  if (!isIp(ip)) return [invalidValue(field, ip, "must be a valid IP address")];
  if (ip === "0.0.0.0" || /^[0:]+$/.test(ip)) return [invalidValue(field, ip, `may not be unspecified (${ip})`)];
  if (/^127\.|^[0:]+:0*1$/.test(ip)) {
    return [invalidValue(field, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")];
  }
  if (/^169\.254\.|^fe[89ab][0-9a-f]:/i.test(ip)) {
    return [invalidValue(field, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")];
  }
  if (/^224\.0\.0\.|^ff02:/i.test(ip)) {
    return [invalidValue(field, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")];
  }
  return [];
}

function subsetPortProblems(port: JsonObject, path: string, needsName: boolean): FieldError[] {
  const named = (port["name"] ?? "") !== "";
  return [
    ...(named || needsName ? labelField(port, "name", path) : []),
    ...portProblems(`${path}.port`, port["port"]),
    ...oneOf(port, "protocol", path, protocols),
    ...appProtocolProblems(port, path),
  ];
}

function appProtocolProblems(port: JsonObject, path: string): FieldError[] {
  const name = stringAt(port, "appProtocol");
  if (name === undefined) return [];
  return qualifiedNameProblems(name).map((problem) => invalidValue(`${path}.appProtocol`, name, problem));
}

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxPorts = 20_000;

export const endpointSliceStrategy: Strategy = {
  // Readers select slices by their labels, so a change of labels is a change of the slice.
  generationPart: ({ apiVersion: _version, metadata, ...rest }) => ({ ...rest, labels: metadata.labels ?? {} }),
  validate: (slice, old) => {
    const problems = sliceEndpointProblems(slice);
    const untouched = old !== undefined && problems.length > 0 && equalJson(slice["endpoints"], old["endpoints"]);
    return [
      ...oneOf(slice, "addressType", "", ["FQDN", "IPv4", "IPv6"]),
      ...slicePortProblems(slice),
      ...(untouched ? [] : problems),
      ...(old === undefined || old["addressType"] === slice["addressType"]
        ? []
        : [immutable("addressType", slice["addressType"])]),
    ];
  },
};

function slicePortProblems(slice: ApiObject): FieldError[] {
  const ports = objectsAt(slice, "ports");
  if (ports.length > maxPorts) return [tooMany("ports", ports.length, maxPorts)];
  const seen = new Set<string>();
  return ports.flatMap((port, at) => {
    const path = `ports[${at}]`;
    const name = stringAt(port, "name") ?? "";
    const repeated = seen.has(name);
    seen.add(name);
    return [
      ...(name === "" ? [] : labelField(port, "name", path)),
      ...(repeated ? [duplicate(`${path}.name`, name)] : []),
      ...oneOf(port, "protocol", path, protocols),
      ...appProtocolProblems(port, path),
    ];
  });
}

function sliceEndpointProblems(slice: ApiObject): FieldError[] {
  const endpoints = objectsAt(slice, "endpoints");
  if (endpoints.length > maxEndpoints) return [tooMany("endpoints", endpoints.length, maxEndpoints)];
  return endpoints.flatMap((endpoint, at) => oneEndpointProblems(endpoint, slice["addressType"], `endpoints[${at}]`));
}

function oneEndpointProblems(endpoint: JsonObject, type: unknown, path: string): FieldError[] {
  const field = `${path}.addresses`;
  const addresses = Array.isArray(endpoint["addresses"]) ? endpoint["addresses"].map(String) : [];
  const nodeName = stringAt(endpoint, "nodeName");
  const hostname = stringAt(endpoint, "hostname");
  return [
    ...(addresses.length === 0 ? [required(field, "must contain at least 1 address")] : []),
    ...(addresses.length > maxAddresses ? [tooMany(field, addresses.length, maxAddresses)] : []),
    ...addresses.flatMap((address, at) => sliceAddressProblems(address, type, { list: field, at })),
    ...(nodeName === undefined
      ? []
      : subdomainProblems(nodeName).map((problem) => invalidValue(`${path}.nodeName`, nodeName, problem))),
    ...(hostname === undefined
      ? []
      : labelProblems(hostname).map((problem) => invalidValue(`${path}.hostname`, hostname, problem))),
  ];
}

function sliceAddressProblems(address: string, type: unknown, place: { list: string; at: number }): FieldError[] {
  const field = `${place.list}[${place.at}]`;
  if (type === "FQDN") return qualifiedDomainProblems(address, field);
  if (type !== "IPv4" && type !== "IPv6") return [];
  const problems = ipProblems(address, field);
  if (problems.length > 0) return problems;
  const fits = type === "IPv4" ? isIPv4(address) : isIPv6(address);
  return [
    ...(fits ? [] : [invalidValue(place.list, address, `must be an ${type} address`)]),
    ...reachableProblems(address, field),
  ];
}

function qualifiedDomainProblems(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  const bare = name.replace(/\.$/, "");
  const problems = subdomainProblems(bare).map((problem) => invalidValue(field, bare, problem));
  if (problems.length > 0 || bare.includes(".")) return problems;
  return [invalidValue(field, name, "should be a domain with at least two segments separated by dots")];
}
