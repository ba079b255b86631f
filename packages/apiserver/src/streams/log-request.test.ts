import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { Query } from "../request/query.ts";
import { logOptions } from "./log-request.ts";

const place = { namespace: "default", pod: "p" };
const nowMs = Date.parse("2026-01-01T00:01:00Z");
const podWith = (status: object | undefined, names = ["main"]): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { nodeName: "box", containers: names.map((name) => ({ name })) },
  status: { containerStatuses: status === undefined ? [] : [{ name: "main", ...status }] },
});
const running = podWith({ state: { running: {} } });
const ask = (query: string, found: ApiObject | undefined = running): unknown =>
  logOptions(place, new Query(query), { found, nowMs });

describe("logOptions()", () => {
  const plain = { ...place, container: "main", follow: false, previous: false, timestamps: false };

  test.for([
    ["", plain],
    ["follow=true&timestamps=true", { ...plain, follow: true, timestamps: true }],
    ["tailLines=0&limitBytes=7", { ...plain, tailLines: 0, limitBytes: 7 }],
    ["sinceSeconds=60", { ...plain, sinceMs: Date.parse("2026-01-01T00:00:00Z") }],
    ["sinceTime=2026-01-01T01:00:00%2B01:00", { ...plain, sinceMs: Date.parse("2026-01-01T00:00:00Z") }],
    ["stream=All", plain],
    ["stream=Stderr", { ...plain, stream: "stderr" }],
  ] as const)("reads %s", ([query, expected]) => {
    expect(ask(query)).toEqual(expected);
  });

  test.for([
    ["a missing Pod", "", undefined, 'pods "p" not found'],
    ["a missing container", "container=x", running, "container x is not valid for pod p"],
    ["no container name for a Pod with several", "", podWith({}, ["a", "b"]), "choose one of: [a b]"],
    ["both sinceTime and sinceSeconds", "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", running, "at most one of"],
    ["an invalid time", "sinceTime=yesterday", running, 'not "yesterday"'],
    ["nothing", "limitBytes=0", running, "limitBytes must be greater than 0"],
    ["zero seconds", "sinceSeconds=0", running, "sinceSeconds must be greater than 0"],
    ["an unknown stream", "stream=Both", running, "must be one of All, Stdout, Stderr"],
    [
      "a container that is being made",
      "",
      podWith({ state: { waiting: { reason: "ContainerCreating" } } }),
      'container "main" in pod "p" is waiting to start: ContainerCreating',
    ],
    ["a container without a status", "", podWith(undefined), "is waiting to start: ContainerCreating"],
    [
      "an image that cannot be had",
      "",
      podWith({ state: { waiting: { reason: "ErrImagePull" } } }),
      "is waiting to start: ErrImagePull",
    ],
    [
      "a previous run that does not exist",
      "previous=true",
      running,
      'previous terminated container "main" in pod "p" not found',
    ],
  ] as const)("refuses %s", ([, query, found, message]) => {
    expect(() => logOptions(place, new Query(query), { found, nowMs })).toThrow(message);
  });

  test.for([
    ["has ended", { state: { terminated: {} } }, ""],
    ["waits to be started again", { state: { waiting: {} }, lastState: { terminated: {} } }, ""],
    ["was started again", { state: { running: {} }, lastState: { terminated: {} } }, "previous=true"],
  ] as const)("accepts a container that %s", ([, status, query]) => {
    expect(ask(query, podWith(status))).toMatchObject({ container: "main" });
  });
});
