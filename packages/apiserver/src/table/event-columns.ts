import { type ApiObject, stringAt, valueAt } from "../api-object.ts";
import type { Column } from "../resources/definition.ts";
import { ageOf } from "./age.ts";
import { at, orEmpty, text } from "./column.ts";

/** The columns of events, with the name last. */
export const eventColumns: readonly Column[] = [
  text("Last Seen", (event, nowMs) => lastSeen(event, nowMs)),
  text("Type", orEmpty("type")),
  text("Reason", orEmpty("reason")),
  text("Object", (event) => objectReference(subject(event))),
  text("Subobject", (event) => stringAt(subject(event), "fieldPath") ?? "", 1),
  text("Source", source, 1),
  text("Message", (event) => (stringAt(event, "message") ?? stringAt(event, "note") ?? "").trim()),
  text("First Seen", firstSeen, 1),
  text("Count", times, 1),
  { ...text("Name", at("metadata", "name"), 1), isName: true },
];

/** The field has different names in the two API groups. */
const subject = (event: ApiObject): unknown => event["involvedObject"] ?? event["regarding"];

function lastSeen(event: ApiObject, nowMs: number): string {
  const seen = [
    stringAt(event, "series", "lastObservedTime"),
    stringAt(event, "lastTimestamp") ?? stringAt(event, "deprecatedLastTimestamp"),
  ].find((time) => time !== undefined);
  return seen === undefined ? firstSeen(event, nowMs) : ageOf(seen, nowMs);
}

function firstSeen(event: ApiObject, nowMs: number): string {
  const first = stringAt(event, "firstTimestamp") ?? stringAt(event, "deprecatedFirstTimestamp");
  return ageOf(first ?? stringAt(event, "eventTime") ?? event.metadata.creationTimestamp, nowMs);
}

function times(event: ApiObject): number {
  return Number(valueAt(event, "series", "count") ?? event["count"] ?? event["deprecatedCount"] ?? 1) || 1;
}

function source(event: ApiObject): string {
  const from = event["source"] ?? event["deprecatedSource"];
  const reporter = stringAt(event, "reportingComponent") ?? stringAt(event, "reportingController");
  const component = stringAt(from, "component") || reporter;
  const host = stringAt(from, "host") || stringAt(event, "reportingInstance");
  return [component, host].filter((part) => part !== undefined && part !== "").join(", ");
}

function objectReference(reference: unknown): string {
  return `${(stringAt(reference, "kind") ?? "").toLowerCase()}/${stringAt(reference, "name") ?? ""}`;
}
