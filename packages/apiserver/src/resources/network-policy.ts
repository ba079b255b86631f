import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, notSupported, required } from "./field-problems.ts";
import { oneOf, portOrNameProblems } from "./field-rules.ts";
import { labelSelectorProblems } from "./label-selector.ts";

export const networkPolicyStrategy: Strategy = {
  setDefaults: (policy) => {
    const spec = policy["spec"];
    if (!isJsonObject(spec) || (Array.isArray(spec["policyTypes"]) && spec["policyTypes"].length > 0)) return policy;
    const sends = Array.isArray(spec["egress"]) && spec["egress"].length > 0;
    return { ...policy, spec: { ...spec, policyTypes: sends ? ["Ingress", "Egress"] : ["Ingress"] } };
  },
  validate: (policy) => {
    const spec = policy["spec"];
    if (!isJsonObject(spec)) return [required("spec")];
    return [
      ...labelSelectorProblems(spec["podSelector"], "spec.podSelector"),
      ...ruleProblems(spec, "ingress", "from"),
      ...ruleProblems(spec, "egress", "to"),
      ...typeProblems(spec["policyTypes"]),
    ];
  },
};

function typeProblems(types: unknown): FieldError[] {
  if (!Array.isArray(types)) return [];
  const known = ["Ingress", "Egress"];
  if (types.length > 2) {
    return [invalidValue("spec.policyTypes", types, "may not specify more than two policyTypes")];
  }
  return types.flatMap((type, at) =>
    known.includes(type) ? [] : [notSupported(`spec.policyTypes[${at}]`, type, known)],
  );
}

function ruleProblems(spec: JsonObject, rules: "ingress" | "egress", peers: "from" | "to"): FieldError[] {
  return objectsAt(spec, rules).flatMap((rule, at) => {
    const path = `spec.${rules}[${at}]`;
    return [
      ...objectsAt(rule, "ports").flatMap((port, portAt) => onePortProblems(port, `${path}.ports[${portAt}]`)),
      ...objectsAt(rule, peers).flatMap((peer, peerAt) => peerProblems(peer, `${path}.${peers}[${peerAt}]`)),
    ];
  });
}

function onePortProblems(port: JsonObject, path: string): FieldError[] {
  return [
    ...oneOf(port, "protocol", path, ["SCTP", "TCP", "UDP"]),
    ...(port["port"] === undefined ? [] : portOrNameProblems(`${path}.port`, port["port"])),
  ];
}

function peerProblems(peer: JsonObject, path: string): FieldError[] {
  const { ipBlock } = peer;
  const selectors = ["podSelector", "namespaceSelector"].filter((key) => peer[key] !== undefined);
  const selects = selectors.length > 0;
  const problems = selectors.flatMap((key) => labelSelectorProblems(peer[key], `${path}.${key}`));
  if (!isJsonObject(ipBlock)) return selects ? problems : [required(path, "must specify a peer")];
  const cidr = stringAt(ipBlock, "cidr") ?? "";
  return [
    ...problems,
    ...(selects ? [{ ...forbiddenPeer, field: path }] : []),
    ...(cidr === "" ? [required(`${path}.ipBlock.cidr`)] : cidrProblems(cidr, `${path}.ipBlock.cidr`)),
  ];
}

const forbiddenPeer: Omit<FieldError, "field"> = {
  reason: "FieldValueForbidden",
  message: "Forbidden: may not specify both ipBlock and another peer",
};

function cidrProblems(cidr: string, field: string): FieldError[] {
  const [address = "", bits = "", ...more] = cidr.split("/");
  const most = address.includes(":") ? 128 : 32;
  const fine = more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most && /^[\da-fA-F:.]+$/.test(address);
  return fine ? [] : [invalidValue(field, cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
}
