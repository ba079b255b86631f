import { type ApiObject, stringAt, valueAt } from "../../api-object.ts";
import type { Strategy } from "../definition.ts";
import { ephemeralContainersPart } from "./ephemeral-containers.ts";
import { keepFixedStatus, preparePod, setPodDefaults } from "./pod-defaults.ts";
import { validatePod } from "./pod-validation.ts";

export const podStrategy: Strategy = {
  setDefaults: setPodDefaults,
  prepareCreate: preparePod,
  prepareStatus: keepFixedStatus,
  validate: validatePod,
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
};

/** Only a Pod that a node may be running needs time to end; the node then deletes it with no grace. */
function graceSeconds(pod: ApiObject, requested: number | undefined): number {
  const bound = (stringAt(pod, "spec", "nodeName") ?? "") !== "";
  const phase = stringAt(pod, "status", "phase");
  if (!bound || phase === "Succeeded" || phase === "Failed") return 0;
  const own = valueAt(pod, "spec", "terminationGracePeriodSeconds");
  return requested ?? (typeof own === "number" ? own : 30);
}
