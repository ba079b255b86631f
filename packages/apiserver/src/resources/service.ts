import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, typeError } from "./metadata.ts";

export const serviceStrategy: Strategy = {
  setDefaults: setServiceDefaults,
  prepareCreate: (service) => ({ ...service, status: { loadBalancer: {} } }),
  validate: (service) => {
    const spec = service["spec"];
    return isJsonObject(spec) ? portProblems(spec) : [typeError("spec", spec, "object")];
  },
};

function setServiceDefaults(service: ApiObject): ApiObject {
  const spec = service["spec"];
  if (!isJsonObject(spec)) return service;
  const { ports } = spec;
  const clusterIP = spec["clusterIP"];
  return {
    ...service,
    spec: {
      type: "ClusterIP",
      sessionAffinity: "None",
      ...(clusterIP === "None" ? { clusterIPs: ["None"] } : {}),
      ...spec,
      ...(Array.isArray(ports)
        ? { ports: ports.map((port: unknown) => (isJsonObject(port) ? setPortDefaults(port) : port)) }
        : {}),
    },
  };
}

function setPortDefaults(port: JsonObject): JsonObject {
  return { protocol: "TCP", ...(port["port"] === undefined ? {} : { targetPort: port["port"] }), ...port };
}

function portProblems({ ports }: JsonObject): FieldError[] {
  if (ports === undefined || ports === null) return [];
  if (!Array.isArray(ports)) return [typeError("spec.ports", ports, "array")];
  return ports.flatMap((port: unknown, at) => {
    if (!isJsonObject(port)) return [typeError(`spec.ports[${at}]`, port, "object")];
    const number = port["port"];
    const valid = Number.isInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
    return valid ? [] : [invalidValue(`spec.ports[${at}].port`, number, "must be between 1 and 65535, inclusive")];
  });
}
