import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import { invalidValue, required } from "../field-problems.ts";
import { oneOf } from "../field-rules.ts";
import { ipProblems } from "../ip-address.ts";
import { qualifiedNameProblems } from "../names.ts";

/** The rules about what a Pod finds around itself: names, the host's ports, other Pods. */
export function surroundingsProblems(spec: JsonObject): FieldError[] {
  return [
    ...sharedPortProblems(spec),
    ...dnsProblems(spec),
    ...gateProblems(spec),
    ...spreadProblems(spec),
    ...objectsAt(spec, "hostAliases").flatMap((alias, at) =>
      ipProblems(stringAt(alias, "ip") ?? "", `spec.hostAliases[${at}].ip`),
    ),
  ];
}

/** On the host's network, a port of the container is one of the host. */
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

function dnsProblems({ dnsPolicy, dnsConfig }: JsonObject): FieldError[] {
  if (dnsPolicy !== "None") return [];
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
