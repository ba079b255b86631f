import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import type { Strategy } from "./definition.ts";

/** The same events are served in two groups under different names of the same fields. */
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

export function convertEvent(event: ApiObject, apiVersion: string): ApiObject {
  const names = apiVersion === "v1" ? toCore : toNewer;
  const renamed = Object.entries(event).map(([key, value]) => [names.get(key) ?? key, value] as const);
  return { ...Object.fromEntries(renamed), apiVersion } as ApiObject;
}

const referenceFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

export const eventStrategy: Strategy = {
  convert: convertEvent,
  validate: (event) =>
    isJsonObject(event["involvedObject"])
      ? []
      : [{ field: "involvedObject", reason: "FieldValueRequired", message: "Required value" }],
  selectableFields: {
    ...Object.fromEntries(
      referenceFields.map((field) => [
        `involvedObject.${field}`,
        (event: ApiObject) => stringAt(event, "involvedObject", field) ?? "",
      ]),
    ),
    reason: (event) => stringAt(event, "reason") ?? "",
    type: (event) => stringAt(event, "type") ?? "",
    reportingComponent: (event) => stringAt(event, "reportingComponent") ?? "",
    source: (event) => stringAt(event, "source", "component") ?? stringAt(event, "reportingComponent") ?? "",
  },
};
