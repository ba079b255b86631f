import { expect, test } from "vitest";
import { explainedBy, troubleInEvents } from "./pod-trouble.ts";

const trouble = { reason: "ErrImagePull", cause: 'cannot pull image "x"', detail: "no such host", isFault: true };

test.for([
  ["adds what is missing", "timed out", trouble, 'timed out; cannot pull image "x": no such host'],
  [
    "does not repeat what the condition says",
    'Ready is False (cannot pull image "x": no)',
    trouble,
    'Ready is False (cannot pull image "x": no)',
  ],
  ["leaves a text alone without trouble", "timed out", undefined, "timed out"],
] as const)("%s", ([, text, known, expected]) => {
  expect(explainedBy(text, known)).toBe(expected);
});

test("finds a volume that the kubelet cannot mount in the last warning of the Pod", () => {
  const event = { type: "Warning", reason: "FailedMount", count: 1, time: 0 };
  const events = [
    { ...event, object: "pod/web", message: "old" },
    { ...event, object: "pod/web", message: 'configmap "c" not found' },
    { ...event, object: "pod/other", message: "not ours" },
    { ...event, type: "Normal", object: "pod/web", message: "Pulled" },
  ];
  expect(troubleInEvents(events, "web")).toMatchObject({ reason: "FailedMount", detail: 'configmap "c" not found' });
  expect(troubleInEvents(events, "none")).toBeUndefined();
});
