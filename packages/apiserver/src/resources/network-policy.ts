import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, notSupported, required } from "./field-problems.ts";
import { oneOf, portOrNameProblems, portProblems } from "./field-rules.ts";
import { blocksIn, ipBlockProblems } from "./ip-block.ts";
import { labelSelectorProblems } from "./label-selector.ts";

export const networkPolicyStrategy: Strategy = {
  setDefaults: (policy) => {
    const spec = policy["spec"];
    if (!isJsonObject(spec) || (Array.isArray(spec["policyTypes"]) && spec["policyTypes"].length > 0)) return policy;
    const sends = Array.isArray(spec["egress"]) && spec["egress"].length > 0;
    return { ...policy, spec: { ...spec, policyTypes: sends ? ["Ingress", "Egress"] : ["Ingress"] } };
  },
  validate: (policy, old) => {
    const spec = policy["spec"];
    if (!isJsonObject(spec)) return [required("spec")];
    const known = blocksIn(old?.["spec"]);
    return [
      ...labelSelectorProblems(spec["podSelector"], "spec.podSelector"),
      ...ruleProblems(spec, "ingress", "from", known),
      ...ruleProblems(spec, "egress", "to", known),
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

function ruleProblems(
  spec: JsonObject,
  rules: "ingress" | "egress",
  peers: "from" | "to",
  known: ReadonlySet<unknown>,
): FieldError[] {
  return objectsAt(spec, rules).flatMap((rule, at) => {
    const path = `spec.${rules}[${at}]`;
    return [
      ...objectsAt(rule, "ports").flatMap((port, portAt) => onePortProblems(port, `${path}.ports[${portAt}]`)),
      ...objectsAt(rule, peers).flatMap((peer, peerAt) => peerProblems(peer, `${path}.${peers}[${peerAt}]`, known)),
    ];
  });
}

function onePortProblems(port: JsonObject, path: string): FieldError[] {
  return [
    ...oneOf(port, "protocol", path, ["SCTP", "TCP", "UDP"]),
    ...(port["port"] === undefined ? [] : portOrNameProblems(`${path}.port`, port["port"])),
    ...endPortProblems(port, `${path}.endPort`),
  ];
}

function endPortProblems({ port, endPort }: JsonObject, field: string): FieldError[] {
  if (endPort === undefined) return [];
  if (port === undefined) return [invalidValue(field, endPort, "may not be specified when `port` is not specified")];
  if (typeof port !== "number") {
    return [invalidValue(field, endPort, "may not be specified when `port` is non-numeric")];
  }
  return [
    // The message shows the value of `port`, like that of kube-apiserver.
    ...(Number(endPort) < port ? [invalidValue(field, port, "must be greater than or equal to `port`")] : []),
    ...portProblems(field, endPort),
  ];
}

function peerProblems(peer: JsonObject, path: string, known: ReadonlySet<unknown>): FieldError[] {
  const { ipBlock } = peer;
  const selectors = ["podSelector", "namespaceSelector"].filter((key) => peer[key] !== undefined);
  const selects = selectors.length > 0;
  const problems = selectors.flatMap((key) => labelSelectorProblems(peer[key], `${path}.${key}`));
  if (!isJsonObject(ipBlock)) return selects ? problems : [required(path, "must specify a peer")];
  return [
    ...problems,
    ...(selects ? [{ ...forbiddenPeer, field: path }] : []),
    ...ipBlockProblems(ipBlock, `${path}.ipBlock`, known),
  ];
}

const forbiddenPeer: Omit<FieldError, "field"> = {
  reason: "FieldValueForbidden",
  message: "Forbidden: may not specify both ipBlock and another peer",
};
