import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { eventProblems } from "./event-validation.ts";

const newer = "events.k8s.io/v1";
/** A stored event, with the field names of the core version. */
const event = (more: object = {}): ApiObject => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "e", namespace: "work" },
  involvedObject: { kind: "Pod", name: "p", namespace: "work" },
  reason: "Tested",
  message: "It was tested",
  type: "Normal",
  action: "Test",
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingComponent: "example.com/test",
  reportingInstance: "here",
  ...more,
});
const untimed = { eventTime: null, reportingComponent: "", reportingInstance: "", action: undefined };
const series = (count: number): object => ({ count, lastObservedTime: "2026-01-01T00:00:01.000000Z" });

describe("a new event", () => {
  test.for<[string, object, string[]]>([
    ["v1", {}, []],
    ["v1", untimed, []],
    ["v1", { ...untimed, involvedObject: { namespace: "elsewhere" } }, ["involvedObject.namespace"]],
    ["v1", { ...untimed, involvedObject: {} }, ["involvedObject.namespace"]],
    ["v1", { ...untimed, involvedObject: {}, metadata: { name: "e", namespace: "default" } }, []],
    ["v1", { involvedObject: {} }, ["involvedObject.namespace"]],
    ["v1", { involvedObject: {}, metadata: { name: "e", namespace: "kube-system" } }, []],
    ["v1", { reportingComponent: "no name" }, ["reportingComponent"]],
    ["v1", { reportingInstance: "x".repeat(129), message: "m".repeat(1025) }, ["reportingInstance", "message"]],
    ["v1", { metadata: { name: "Not A Name", namespace: "work" }, type: "Odd" }, []],
    [newer, {}, []],
    [newer, { series: series(2) }, []],
    [newer, { series: series(1) }, ["series.count"]],
    [newer, { series: { count: 2 } }, ["series.lastObservedTime"]],
    [newer, { reportingComponent: "no name" }, ["reportingController"]],
    [newer, { metadata: { name: "Not A Name", namespace: "work" }, type: "Odd" }, ["metadata.name", "type"]],
    [newer, untimed, ["eventTime"]],
    [
      newer,
      { count: 1, source: { component: "x" }, firstTimestamp: "2026-01-01T00:00:00Z" },
      ["firstTimestamp", "count", "source"],
    ],
  ])("of %s with %j is refused for %j", ([apiVersion, more, expected]) => {
    expect(eventProblems(event(more), undefined, apiVersion).map(({ field }) => field)).toEqual(expected);
  });
});

describe("an update of an event", () => {
  test.for<[string, object, string[]]>([
    ["v1", { count: 7, message: "Again" }, []],
    [newer, { series: series(3) }, []],
    [newer, { series: series(1) }, ["series.count"]],
    [newer, { message: "Again", reportingComponent: "example.com/other" }, ["message", "reportingController"]],
  ])("of %s to %j is refused for %j", ([apiVersion, more, expected]) => {
    expect(eventProblems(event(more), event(), apiVersion).map(({ field }) => field)).toEqual(expected);
  });
});
