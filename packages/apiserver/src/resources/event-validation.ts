import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, stringAt, valueAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { immutable, invalidValue, required } from "./field-problems.ts";
import { nameProblems, qualifiedNameProblems } from "./names.ts";

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;
const oldVersion = "v1";

/** The rules of events, which are stored with the field names of the core version. events.k8s.io/v1 has additional rules. */
export function eventProblems(event: ApiObject, old: ApiObject | undefined, apiVersion: string): FieldError[] {
  return [
    ...(hasTime(event) ? timedProblems(event, apiVersion) : untimedProblems(event)),
    ...(apiVersion === oldVersion ? [] : newerProblems(event, old)),
  ];
}

const hasTime = (event: ApiObject): boolean => typeof event["eventTime"] === "string";
const objectNamespace = (event: ApiObject): string => stringAt(event, "involvedObject", "namespace") ?? "";
const namespaceMismatch = (event: ApiObject): FieldError =>
  invalidValue("involvedObject.namespace", objectNamespace(event), "does not match event.namespace");

/** Events without an eventTime have only the rule of the oldest version: they must be in the namespace of their object. */
function untimedProblems(event: ApiObject): FieldError[] {
  const { namespace = "" } = event.metadata;
  const fits = objectNamespace(event) === "" ? namespace === "default" : objectNamespace(event) === namespace;
  return fits ? [] : [namespaceMismatch(event)];
}

function timedProblems(event: ApiObject, apiVersion: string): FieldError[] {
  const { namespace = "" } = event.metadata;
  const reporter = apiVersion === oldVersion ? "reportingComponent" : "reportingController";
  const component = stringAt(event, "reportingComponent") ?? "";
  const missing = (key: string): FieldError[] => ((event[key] ?? "") === "" ? [required(key)] : []);
  const long = (key: keyof typeof longest): FieldError[] =>
    Buffer.byteLength(stringAt(event, key) ?? "") > longest[key]
      ? [invalidValue(key, "", `can have at most ${longest[key]} characters`)]
      : [];
  return [
    ...(objectNamespace(event) !== "" || namespace === "default" || namespace === "kube-system"
      ? []
      : [namespaceMismatch(event)]),
    ...(component === "" ? [required(reporter)] : []),
    ...qualifiedNameProblems(component).map((problem) => invalidValue(reporter, component, problem)),
    ...(["reportingInstance", "action", "reason"] as const).flatMap((key) => [...missing(key), ...long(key)]),
    ...long("message"),
  ];
}

function newerProblems(event: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old === undefined) return [...newNameProblems(event), ...seriesProblems(event), ...leftoverProblems(event)];
  const same = equalJson(event["series"], old["series"]);
  return [
    ...(same ? [] : seriesProblems(event)),
    ...fixed.filter((key) => !equalJson(event[key], old[key])).map((key) => immutable(shownName(key), event[key])),
  ];
}

/** The fields of an event that cannot change: all except the series. */
const fixed = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
];
const shownName = (key: string): string => (key === "reportingComponent" ? "reportingController" : key);

function newNameProblems({ metadata: { name = "" } }: ApiObject): FieldError[] {
  return nameProblems(name, "subdomain").map((problem) => invalidValue("metadata.name", name, problem));
}

function seriesProblems({ series }: ApiObject): FieldError[] {
  if (!isJsonObject(series)) return [];
  const count = valueAt(series, "count");
  return [
    ...(typeof count === "number" && count >= 2 ? [] : [invalidValue("series.count", "", "should be at least 2")]),
    ...(typeof valueAt(series, "lastObservedTime") === "string" ? [] : [required("series.lastObservedTime")]),
  ];
}

/** Fields that only the core version has must be empty in events.k8s.io/v1. */
function leftoverProblems(event: ApiObject): FieldError[] {
  const unset = "needs to be unset";
  const { type, source } = event;
  const named = ["component", "host"].some((key) => (stringAt(source, key) ?? "") !== "");
  return [
    ...(hasTime(event) ? [] : [required("eventTime")]),
    ...(type === "Normal" || type === "Warning"
      ? []
      : [invalidValue("type", "", `has invalid value: ${typeof type === "string" ? type : ""}`)]),
    ...["firstTimestamp", "lastTimestamp"].flatMap((key) =>
      typeof event[key] === "string" ? [invalidValue(key, "", unset)] : [],
    ),
    ...((event["count"] ?? 0) === 0 ? [] : [invalidValue("count", "", unset)]),
    ...(named ? [invalidValue("source", "", unset)] : []),
  ];
}
