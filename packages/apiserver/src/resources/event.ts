import { type ApiObject, stringAt } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { eventProblems } from "./event-validation.ts";

/** Events are served in two groups, which have different names for the same fields. */
const newNames: readonly (readonly [core: string, newer: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];

const toNewer = new Map(newNames);
const toCore = new Map(newNames.map(([core, newer]) => [newer, core]));

const reporter = new Set(["reportingController", "reportingInstance"]);

export function convertEvent(event: ApiObject, apiVersion: string): ApiObject {
  const names = apiVersion === "v1" ? toCore : toNewer;
  const renamed = Object.entries(event).map(([key, value]) => [names.get(key) ?? key, value] as const);
  // Go encodes these in the core version even if they are empty, but not in events.k8s.io/v1.
  const shown = apiVersion === "v1" ? renamed : renamed.filter(([key, value]) => value !== "" || !reporter.has(key));
  return { ...Object.fromEntries(shown), apiVersion } as ApiObject;
}

const referenceFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

export const eventStrategy: Strategy = {
  convert: convertEvent,
  ownsNothing: true,
  validate: eventProblems,
  selectableFields: {
    ...Object.fromEntries(
      referenceFields.flatMap((field) => {
        const read = (event: ApiObject): string => stringAt(event, "involvedObject", field) ?? "";
        return [
          [`involvedObject.${field}`, read],
          [`regarding.${field}`, read],
        ];
      }),
    ),
    reason: (event) => stringAt(event, "reason") ?? "",
    type: (event) => stringAt(event, "type") ?? "",
    reportingComponent: (event) => stringAt(event, "reportingComponent") ?? "",
    reportingController: (event) => stringAt(event, "reportingComponent") ?? "",
    source: (event) => stringAt(event, "source", "component") ?? stringAt(event, "reportingComponent") ?? "",
  },
};
