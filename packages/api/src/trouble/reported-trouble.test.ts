import { describe, expect, test } from "vitest";
import type { Pod } from "../kubernetes.ts";
import { troubleIn, whyNotReady, withTrouble } from "./reported-trouble.ts";

const cause = 'container "main": cannot pull image "x"';
const trouble = (detail?: string) => ({ reason: "ErrImagePull", cause, ...(detail && { detail }), isFault: true });

describe("withTrouble()", () => {
  const pending = "Pod exists with phase: Pending";
  test.for([
    ["adds the sentence", trouble("not found"), pending, `${pending}; ${cause}: not found`],
    [
      "keeps a detail that is missing now",
      trouble(),
      `${pending}; ${cause}: not found`,
      `${pending}; ${cause}: not found`,
    ],
    [
      "keeps a sentence that differs in numbers and IDs only",
      trouble("read tcp 10.0.0.1:40312: timeout (id 7f3a9c01)"),
      `${pending}; ${cause}: read tcp 10.0.0.1:55120: timeout (id 90aa1b2c)`,
      `${pending}; ${cause}: read tcp 10.0.0.1:55120: timeout (id 90aa1b2c)`,
    ],
    [
      "replaces a sentence about something else",
      trouble("unauthorized"),
      `${pending}; ${cause}: not found`,
      `${pending}; ${cause}: unauthorized`,
    ],
    ["says nothing of a Pod without trouble", undefined, `${pending}; ${cause}: not found`, pending],
  ] as const)("%s (STATUS-17)", ([, now, before, expected]) => {
    expect(withTrouble(pending, now, before)).toBe(expected);
  });

  test("a changed exit code is another cause (STATUS-17)", () => {
    const exited = (code: number) => `container "main": exited with code ${code} (Error) and is restarted`;
    const now = { reason: "Error", cause: exited(4), isFault: true };
    expect(withTrouble("Pod is Running but not Ready", now, `Pod is Running but not Ready; ${exited(3)}`)).toBe(
      `Pod is Running but not Ready; ${exited(4)}`,
    );
  });
});

test.for([
  [`Pod exists with phase: Pending; ${cause}`, cause],
  [`Pod exists with phase: ; ${cause}`, cause],
  [`Pod is Running but not Ready; Service does not exist; ${cause}`, cause],
  [`Pod failed; ${cause}`, cause],
  [`Not all members are Ready yet; ${cause}`, cause],
  ["Pod is Running but not Ready; Service Exists", undefined],
  ["Pod does not exist", undefined],
  ["Error seen: a; b", undefined],
  [undefined, undefined],
] as const)("finds the sentence in %j", ([message, expected]) => {
  expect(troubleIn(message)).toBe(expected);
});

describe("whyNotReady()", () => {
  const sandbox = (status: string, reason: string, message: string) => ({
    status: { conditions: [{ type: "Ready", status, reason, message }] },
  });
  const pod = {
    status: { containerStatuses: [{ name: "main", image: "x", state: { waiting: { reason: "ErrImagePull" } } }] },
  } as unknown as Pod;
  test.for([
    ["a Sandbox that is ready", sandbox("True", "DependenciesReady", "Pod is Ready"), pod, undefined],
    [
      "its condition",
      sandbox("False", "DependenciesNotReady", `Pod exists with phase: Pending; ${cause}: no`),
      pod,
      `${cause}: no`,
    ],
    [
      "its Pod, if the condition does not say",
      sandbox("False", "DependenciesNotReady", "Pod exists with phase: Pending"),
      pod,
      cause,
    ],
    [
      "a Pod without trouble",
      sandbox("False", "DependenciesNotReady", "Pod does not exist"),
      undefined,
      "Pod does not exist",
    ],
    ["an error", sandbox("False", "ReconcilerError", "Error seen: no"), pod, "Error seen: no"],
    ["a Sandbox without status", {}, undefined, undefined],
  ] as const)("explains by %s", ([, given, its, expected]) => {
    expect(whyNotReady(given, its)).toBe(expected);
  });
});
