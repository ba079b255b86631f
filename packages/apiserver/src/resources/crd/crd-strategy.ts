import { crds } from "@agent-sandbox/api/crds";
import { type ApiObject, isJsonObject, stringAt, withMetadata } from "../../api-object.ts";
import { timestamp } from "../../clock.ts";
import type { Strategy } from "../definition.ts";
import { cleanupFinalizer, crdStatus } from "./accepted-names.ts";
import { conversionProblems } from "./conversion-problems.ts";
import { crdProblems } from "./crd-validation.ts";

/** The platform's own kinds, which are built into the server. */
export const ownNames: ReadonlySet<string> = new Set(crds.map(({ metadata }) => metadata.name as string));

export const crdStrategy: Strategy = {
  setDefaults: setNameDefaults,
  prepareCreate: (crd, { registry, nowMs }) => ({
    ...crd,
    status: crdStatus(crd, registry.definitions, { nowMs }),
  }),
  prepareUpdate: (crd, old, { registry, nowMs }) => ({
    ...crd,
    status: crdStatus(crd, registry.definitions, { nowMs, old }),
  }),
  // Manifests of the reference implementation contain the definitions of kinds that are built in here.
  fixedSpec: (name) =>
    ownNames.has(name) ? `the server has ${name} built in: its definition was not changed` : undefined,
  validate: (crd, old) =>
    ownNames.has(crd.metadata.name ?? "") ? [] : [...crdProblems(crd, old), ...conversionProblems(crd["spec"])],
  deletionProblem: ({ metadata }) =>
    ownNames.has(metadata.name ?? "") ? "the server has this kind built in" : undefined,
  marksTimeAlone: true,
  markDeleted: (crd) => withTerminating(withFinalizer(crd)),
};

function setNameDefaults(crd: ApiObject): ApiObject {
  const spec = crd["spec"];
  if (!isJsonObject(spec) || !isJsonObject(spec["names"])) return crd;
  const { names } = spec;
  const kind = stringAt(names, "kind") ?? "";
  const filled = {
    ...names,
    singular: names["singular"] || kind.toLowerCase(),
    ...(kind === "" ? {} : { listKind: names["listKind"] || `${kind}List` }),
  };
  return { ...crd, spec: { ...spec, names: filled } };
}

/** The finalizer keeps a definition until its objects are deleted. */
function withFinalizer(crd: ApiObject): ApiObject {
  const finalizers = crd.metadata.finalizers ?? [];
  return finalizers.includes(cleanupFinalizer)
    ? crd
    : withMetadata(crd, { finalizers: [...finalizers, cleanupFinalizer] });
}

function withTerminating(crd: ApiObject): ApiObject {
  const status = isJsonObject(crd["status"]) ? crd["status"] : {};
  const conditions = Array.isArray(status["conditions"]) ? (status["conditions"] as unknown[]) : [];
  const terminating = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: timestamp(Date.parse(crd.metadata.deletionTimestamp ?? "")),
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  return { ...crd, status: { ...status, conditions: [...conditions, terminating] } };
}
