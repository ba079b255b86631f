import type { Change, KubeObject } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { type Judgement, judge } from "./wait.ts";

const wanted = { type: "Ready", status: "True" };
const object = (status?: string): KubeObject =>
  ({ metadata: { name: "a" }, status: { conditions: status ? [{ type: "Ready", status }] : [] } }) as KubeObject;
const reset = (...items: KubeObject[]): Change<KubeObject> => ({ type: "reset", items, resourceVersion: "1" });
const changes = (...events: ["upsert" | "delete", KubeObject][]): Change<KubeObject> => ({
  type: "changes",
  events: events.map(([type, changed]) => ({ type, object: changed })),
  resourceVersion: "2",
});

const rows: [string, Change<KubeObject>, typeof wanted | "delete", Judgement][] = [
  ["met from the start", reset(object("True")), wanted, { verdict: "met" }],
  ["not yet", reset(object("False")), wanted, { verdict: "waiting", why: "Ready is False" }],
  ["never there", reset(), wanted, { verdict: "gone", why: "not found" }],
  ["met for a moment", changes(["upsert", object("True")], ["upsert", object("False")]), wanted, { verdict: "met" }],
  ["deleted while it was met", changes(["delete", object("True")]), wanted, { verdict: "gone", why: "was deleted" }],
  ["a bookmark", changes(), wanted, { verdict: "waiting" }],
  ["still there", reset(object()), "delete", { verdict: "waiting", why: "it still exists" }],
  ["gone before", reset(), "delete", { verdict: "met" }],
  ["gone now", changes(["upsert", object()], ["delete", object()]), "delete", { verdict: "met" }],
  ["a bookmark while it is there", changes(), "delete", { verdict: "waiting" }],
];
test.for(rows)("%s", ([, change, what, expected]) => {
  expect(judge(change, what)).toEqual(expected);
});
