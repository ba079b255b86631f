import {
  applyMergePatch,
  controllerReference,
  type NetworkPolicy,
  type SandboxTemplate,
  sandboxTemplates,
} from "@agent-sandbox/api";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { created, templateOf } from "../extensions.test.support.ts";
import { type Action, decide } from "./decide.ts";
import { defaultRouterPlace } from "./desired-policy.ts";

interface State {
  /** Undefined: deleted. */
  readonly template: SandboxTemplate | undefined;
  readonly policy: NetworkPolicy | undefined;
  readonly lost: NetworkPolicy | undefined;
  readonly sandboxes: number;
}

const place = { name: "test-template-network-policy", namespace: "default" };
const labels = { "agents.x-k8s.io/sandbox-template-ref-hash": "69155462" };
const ours = [controllerReference(sandboxTemplates, templateOf())];
const theirs = [{ apiVersion: "apps/v1", kind: "Operator", name: "x", uid: "x-uid", controller: true }];
/** What may have the policy's name, and whether it is ours to change. */
const owners = { ours, theirs, nobodys: undefined };

const policy = fc
  .record({
    owner: fc.constantFrom<keyof typeof owners>("ours", "theirs", "nobodys"),
    isKept: fc.boolean(),
    spec: fc.constantFrom<NonNullable<NetworkPolicy["spec"]>[]>(
      { podSelector: {} },
      { podSelector: {}, policyTypes: ["Ingress"], ingress: [{}] },
    ),
  })
  .map(({ owner, isKept, spec }): NetworkPolicy => {
    const ownerReferences = owners[owner];
    const metadata = { ...place, uid: "policy-uid", ...(ownerReferences && { ownerReferences }) };
    return { metadata: { ...metadata, ...(isKept && { labels }) }, spec };
  });

const template = fc
  .record({
    isLabelled: fc.boolean(),
    isGoing: fc.boolean(),
    management: fc.constantFrom<Partial<SandboxTemplate["spec"]>[]>({}, {}, { networkPolicyManagement: "Unmanaged" }),
    rules: fc.constantFrom<Partial<SandboxTemplate["spec"]>[]>(
      {},
      { networkPolicy: {} },
      { networkPolicy: { egress: [{ ports: [{ port: 53 }] }] } },
    ),
  })
  .map(({ isLabelled, isGoing, management, rules }) =>
    templateOf(
      { ...management, ...rules },
      { ...(isLabelled && { labels }), ...(isGoing && { deletionTimestamp: created }) },
    ),
  );

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const state: fc.Arbitrary<State> = fc.record({
  template: maybe(template),
  policy: maybe(policy),
  lost: maybe(policy),
  sandboxes: fc.constantFrom(0, 3),
});

function judge({ lost, ...rest }: State): ReturnType<typeof decide> {
  const known = { templateName: "test-template", router: defaultRouterPlace, isCacheBehind: false };
  return decide({ ...known, ...rest, lostPolicy: lost });
}

/** What the API server would hold after the action. */
function carryOut(before: State, action: Action): State {
  switch (action.do) {
    case "label-template":
      return { ...before, template: applyMergePatch(action.template, { metadata: { labels } }) as SandboxTemplate };
    case "create-policy":
      return { ...before, policy: { ...action.policy, metadata: { ...action.policy.metadata, uid: "new-uid" } } };
    case "change-policy":
      return { ...before, policy: applyMergePatch(action.policy, action.change) as NetworkPolicy };
    default:
      return { ...before, policy: undefined, lost: undefined };
  }
}

function isOurs({ metadata }: NetworkPolicy): boolean {
  const controller = metadata?.ownerReferences?.find((reference) => reference.controller === true);
  const isKept = Object.entries(labels).every(([key, value]) => metadata?.labels?.[key] === value);
  return controller === undefined ? isKept : controller.kind === "SandboxTemplate";
}

describe("decide() for any template", () => {
  test("returns the same decision for the same observation and does not modify it", () => {
    const property = fc.property(state, (given) => {
      const before = structuredClone(given);
      expect(judge(given)).toEqual(judge(structuredClone(given)));
      expect(given).toEqual(before);
    });
    fc.assert(property);
  });

  test("settles after one reconcile", () => {
    const property = fc.property(state, (given) => {
      const after = judge(given).actions.reduce(carryOut, given);
      expect(judge(after).actions).toEqual([]);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("never changes foreign objects, sets a second controller or creates a second policy (ABUSE-13)", () => {
    const property = fc.property(state, (given) => {
      const { actions } = judge(given);
      const isStrangers = given.policy !== undefined && !isOurs(given.policy);
      expect(isStrangers && actions.some((action) => action.do !== "label-template")).toBe(false);
      expect(given.policy !== undefined && actions.some((action) => action.do === "create-policy")).toBe(false);
      const { policy: after } = actions.reduce(carryOut, given);
      const controllers = (after?.metadata?.ownerReferences ?? []).filter(({ controller }) => controller === true);
      expect(controllers.length).toBeLessThanOrEqual(1);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("never leaves Sandboxes of a deleted template without their policy (TEMPLATE-7)", () => {
    const orphaned = state.map((given) => ({ ...given, template: undefined, sandboxes: 3 }));
    const property = fc.property(orphaned, (given) => {
      const { policy: after } = judge(given).actions.reduce(carryOut, given);
      expect(after?.spec).toEqual((given.policy ?? given.lost)?.spec);
    });
    fc.assert(property, { numRuns: 300 });
  });
});
