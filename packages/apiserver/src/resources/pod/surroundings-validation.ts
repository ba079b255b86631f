import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { invalidValue, required } from "../field-problems.ts";
import { oneOf } from "../field-rules.ts";
import { ipProblems } from "../ip-address.ts";
import { qualifiedNameProblems, searchPathProblems, subdomainProblems } from "../names.ts";

/** The rules for the environment of a Pod: host names, DNS, host ports, readiness gates and topology. */
export function surroundingsProblems(spec: JsonObject): FieldError[] {
  return [
    ...sharedPortProblems(spec),
    ...dnsProblems(spec),
    ...gateProblems(spec),
    ...spreadProblems(spec),
    ...objectsAt(spec, "hostAliases").flatMap((alias, at) => aliasProblems(alias, `spec.hostAliases[${at}]`)),
  ];
}

/** On the host's network, a port of the container is a port of the host. */
function sharedPortProblems(spec: JsonObject): FieldError[] {
  if (spec["hostNetwork"] !== true) return [];
  const why = "must match `containerPort` when `hostNetwork` is true";
  return ["containers", "initContainers"].flatMap((list) =>
    objectsAt(spec, list).flatMap((container, at) =>
      objectsAt(container, "ports").flatMap(({ hostPort, containerPort }, place) =>
        hostPort === containerPort
          ? []
          : [invalidValue(`spec.${list}[${at}].ports[${place}].hostPort`, hostPort ?? 0, why)],
      ),
    ),
  );
}

/** Host aliases become lines of the Pod's `/etc/hosts`. */
function aliasProblems(alias: JsonObject, path: string): FieldError[] {
  return [
    ...ipProblems(stringAt(alias, "ip") ?? "", `${path}.ip`),
    ...textsAt(alias, "hostnames").flatMap((name, at) =>
      subdomainProblems(name).map((problem) => invalidValue(`${path}.hostnames[${at}]`, name, problem)),
    ),
  ];
}

function textsAt(owner: JsonObject, key: string): string[] {
  const list = owner[key];
  return Array.isArray(list) ? list.map(String) : [];
}

const mostServers = 3;
const mostSearches = 32;
const mostSearchCharacters = 2048;

/** The DNS config becomes lines of the Pod's `/etc/resolv.conf`. */
function resolverProblems(config: JsonObject, path: string): FieldError[] {
  const [servers, searches] = [textsAt(config, "nameservers"), textsAt(config, "searches")];
  const tooMany = (field: string, list: string[], rule: string): FieldError =>
    invalidValue(`${path}.${field}`, list, `must not have more than ${rule}`);
  return [
    ...(servers.length > mostServers ? [tooMany("nameservers", servers, `${mostServers} nameservers`)] : []),
    ...servers.flatMap((server, at) => ipProblems(server, `${path}.nameservers[${at}]`)),
    ...(searches.length > mostSearches ? [tooMany("searches", searches, `${mostSearches} search paths`)] : []),
    ...(searches.join(" ").length > mostSearchCharacters
      ? [tooMany("searches", searches, `${mostSearchCharacters} characters (including spaces) in the search list`)]
      : []),
    ...searches.flatMap((search, at) => searchProblems(search, `${path}.searches[${at}]`)),
    ...objectsAt(config, "options").flatMap(({ name = "" }, at) =>
      name === "" ? [required(`${path}.options[${at}]`, "must not be empty")] : [],
    ),
  ];
}

function searchProblems(search: string, field: string): FieldError[] {
  if (search === ".") return [];
  const name = search.replace(/\.$/, "");
  return searchPathProblems(name).map((problem) => invalidValue(field, name, problem));
}

function dnsProblems({ dnsPolicy, dnsConfig }: JsonObject): FieldError[] {
  const missing = dnsPolicy === "None" ? serverProblems(dnsConfig) : [];
  if (missing.length > 0 || !isJsonObject(dnsConfig)) return missing;
  return resolverProblems(dnsConfig, "spec.dnsConfig");
}

function serverProblems(dnsConfig: unknown): FieldError[] {
  const policy = "when `dnsPolicy` is None";
  if (!isJsonObject(dnsConfig)) return [required("spec.dnsConfig", `must provide \`dnsConfig\` ${policy}`)];
  const servers = dnsConfig["nameservers"];
  if (Array.isArray(servers) && servers.length > 0) return [];
  return [required("spec.dnsConfig.nameservers", `must provide at least one DNS nameserver ${policy}`)];
}

function gateProblems(spec: JsonObject): FieldError[] {
  return objectsAt(spec, "readinessGates").flatMap((gate, at) => {
    const type = stringAt(gate, "conditionType") ?? "";
    const field = `spec.readinessGates[${at}].conditionType`;
    return qualifiedNameProblems(type).map((problem) => invalidValue(field, type, problem));
  });
}

function spreadProblems(spec: JsonObject): FieldError[] {
  return objectsAt(spec, "topologySpreadConstraints").flatMap((constraint, at) => {
    const path = `spec.topologySpreadConstraints[${at}]`;
    const { maxSkew, topologyKey = "" } = constraint;
    return [
      ...(typeof maxSkew === "number" && maxSkew > 0
        ? []
        : [invalidValue(`${path}.maxSkew`, maxSkew ?? 0, "must be greater than zero")]),
      ...(topologyKey === "" ? [required(`${path}.topologyKey`, "can not be empty")] : []),
      ...oneOf(constraint, "whenUnsatisfiable", path, ["DoNotSchedule", "ScheduleAnyway"]),
    ];
  });
}
