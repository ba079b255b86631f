import type { FieldError } from "../api-error.ts";
import { type ApiObject, stringAt } from "../api-object.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, required } from "./field-problems.ts";
import { qualifiedNameProblems } from "./names.ts";

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

const reporter = new Set(["reportingController", "reportingInstance"]);

export function convertEvent(event: ApiObject, apiVersion: string): ApiObject {
  const names = apiVersion === "v1" ? toCore : toNewer;
  const renamed = Object.entries(event).map(([key, value]) => [names.get(key) ?? key, value] as const);
  // Go writes these in the old kind even when there is nothing in them, and in the new one it does not.
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

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** Events without a time of their own are of the old kind, which had few rules. */
function eventProblems(event: ApiObject): FieldError[] {
  const { namespace = "" } = event.metadata;
  const about = stringAt(event, "involvedObject", "namespace") ?? "";
  const isNew = typeof event["eventTime"] === "string";
  const homes = isNew ? ["default", "kube-system"] : ["default"];
  const fits = about === "" ? homes.includes(namespace) : isNew || about === namespace;
  return [
    ...(fits ? [] : [invalidValue("involvedObject.namespace", about, "does not match event.namespace")]),
    ...(isNew ? reporterProblems(event) : []),
  ];
}

function reporterProblems(event: ApiObject): FieldError[] {
  const component = stringAt(event, "reportingComponent") ?? "";
  const missing = (key: string): FieldError[] => ((event[key] ?? "") === "" ? [required(key)] : []);
  const long = (key: keyof typeof longest): FieldError[] =>
    Buffer.byteLength(stringAt(event, key) ?? "") > longest[key]
      ? [invalidValue(key, "", `can have at most ${longest[key]} characters`)]
      : [];
  return [
    ...missing("reportingComponent"),
    ...qualifiedNameProblems(component).map((problem) => invalidValue("reportingComponent", component, problem)),
    ...(["reportingInstance", "action", "reason"] as const).flatMap((key) => [...missing(key), ...long(key)]),
    ...long("message"),
  ];
}
