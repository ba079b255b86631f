import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { lastAppliedAnnotation } from "./last-applied.ts";
import { apply, conflictsOf, ownersOf, specOf, tryApply, update, widget } from "./widget.test.support.ts";

const annotated = (object: ApiObject, text: string): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [lastAppliedAnnotation]: text } },
});

const original = widget({ replicas: 1, title: "t" });
/** The result of a client-side `kubectl apply`. */
const live = update(undefined, "kubectl-client-side-apply", annotated(original, JSON.stringify(original)));
const annotationOf = (object: ApiObject): string | undefined => object.metadata.annotations?.[lastAppliedAnnotation];

test("a server-side apply of kubectl takes over what it applied client-side, without conflicts", () => {
  const object = apply(live, "kubectl", widget({ replicas: 2, title: "t" }));
  expect(specOf(object)).toEqual({ replicas: 2, title: "t" });
  expect(ownersOf(object)["kubectl Apply"]).toEqual({ "f:spec": { "f:replicas": {}, "f:title": {} } });
});

test("only fields that somebody changed since the client-side apply are conflicts", () => {
  const scaled = update(live, "scaler", { ...live, spec: { replicas: 5, title: "t" } });
  expect(conflictsOf(tryApply(scaled, "kubectl", widget({ replicas: 2, title: "u" })))).toEqual([
    "scaler:f:spec/f:replicas",
  ]);
});

test("other managers get conflicts", () => {
  expect(tryApply(live, "flux", widget({ replicas: 2 }))).toHaveProperty("conflicts");
});

test("a server-side apply of kubectl updates the annotation, but does not create one", () => {
  const config = annotated(widget({ title: "<t>" }), "whatever");
  expect(annotationOf(apply(live, "kubectl", config, { force: true }))).toBe(
    '{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"annotations":{},"name":"w","namespace":"default"},"spec":{"title":"\\u003ct\\u003e"}}\n',
  );
  expect(annotationOf(apply(live, "flux", widget({ paused: true })))).toBe(annotationOf(live));
  expect(annotationOf(apply(undefined, "kubectl", widget({ replicas: 1 })))).toBeUndefined();
});

test("an annotation that would be too large is dropped", () => {
  const config = widget({ replicas: 1, title: "t".repeat(256 * 1024) });
  expect(annotationOf(apply(live, "kubectl", config))).toBeUndefined();
});

test.for(["", "junk", "[]", "null", '{"apiVersion":"other/v1"}', '{"apiVersion":"example.org/v1","spec":5}'])(
  "an invalid annotation %j does not prevent conflicts",
  (text) => {
    const broken = update(undefined, "kubectl-client-side-apply", annotated(original, text));
    expect(tryApply(broken, "kubectl", widget({ replicas: 2 }))).toHaveProperty("conflicts");
  },
);
