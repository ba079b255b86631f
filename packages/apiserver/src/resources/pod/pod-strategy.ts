import { type ApiObject, stringAt, valueAt } from "../../api-object.ts";
import type { Interner } from "../../interner.ts";
import type { Strategy } from "../definition.ts";
import { ephemeralContainersPart } from "./ephemeral-containers.ts";
import { keepFixedStatus, preparePod, setPodDefaults } from "./pod-defaults.ts";
import { validatePod } from "./pod-validation.ts";

export const podStrategy = (interner: Interner): Strategy => ({
  setDefaults: (pod) => setPodDefaults(pod, interner),
  prepareCreate: (pod, context) => preparePod(pod, context, interner),
  prepareStatus: keepFixedStatus,
  validate: (pod, old) => validatePod(pod, old, interner),
  parts: new Map([["ephemeralcontainers", ephemeralContainersPart]]),
  graceSeconds,
  selectableFields: {
    "spec.nodeName": (pod) => stringAt(pod, "spec", "nodeName") ?? "",
    "spec.restartPolicy": (pod) => stringAt(pod, "spec", "restartPolicy") ?? "",
    "spec.serviceAccountName": (pod) => stringAt(pod, "spec", "serviceAccountName") ?? "",
    "spec.schedulerName": (pod) => stringAt(pod, "spec", "schedulerName") ?? "",
    "status.phase": (pod) => stringAt(pod, "status", "phase") ?? "",
    "status.podIP": (pod) => stringAt(pod, "status", "podIP") ?? "",
  },
});

/** Only a Pod that may be running on a node has a grace period. The node deletes it, with none, when it has stopped. */
function graceSeconds(pod: ApiObject, requested: number | undefined): number {
  const bound = (stringAt(pod, "spec", "nodeName") ?? "") !== "";
  const phase = stringAt(pod, "status", "phase");
  if (!bound || phase === "Succeeded" || phase === "Failed") return 0;
  const own = valueAt(pod, "spec", "terminationGracePeriodSeconds");
  return requested ?? (typeof own === "number" ? own : 30);
}
