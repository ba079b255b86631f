import {
  type Condition,
  controllerOf,
  findCondition,
  type ObjectMeta,
  type Sandbox,
  sleepReason,
} from "@agent-sandbox/api";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "./action.ts";
import { anyObserved, anySettings, childVersion, observedUid } from "./any-cluster.test.support.ts";
import { decideNow } from "./decide.ts";

const any = { requiredKeys: [] };
const now = Date.parse("2026-03-01T10:00:00Z");

function isReportable(ready: Condition | undefined): boolean {
  const { reason = "", message = "" } = ready ?? {};
  return /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason) && message.length <= 32_768;
}

/** A change of owner, and of anything that others change seldom, is made only to the version that was looked at. */
function isGuarded(action: Action): boolean {
  if (action.do !== "patch" && action.do !== "delete") return true;
  const { uid, resourceVersion } = action.target;
  const changesOwner = action.do === "patch" && JSON.stringify(action.body).includes("ownerReferences");
  const needsVersion = action.child !== "pod" || changesOwner;
  return uid !== "" && (!needsVersion || resourceVersion === childVersion);
}

describe("decide()", () => {
  test("returns the same decision for the same observation and does not modify it", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const before = structuredClone(seen);
      expect(decideNow(seen, now, settings)).toEqual(decideNow(structuredClone(seen), now, settings));
      expect(seen).toEqual(before);
    });
    fc.assert(property);
  });

  test("never creates a second Pod and never deletes an object the Sandbox does not own (POD-13, ABUSE-13)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { actions } = decideNow(seen, now, settings);
      const deleted = actions.flatMap((action) => (action.do === "delete" ? [action.target.uid] : []));
      const created = actions.filter((action) => action.do === "create" && action.child === "pod").length;
      const left = seen.pods.filter(({ metadata }) => !deleted.includes(metadata?.uid ?? "")).length;
      const children = [...seen.pods, ...(seen.service ? [seen.service] : [])];
      const own = children
        .filter((child) => controllerOf(child)?.uid === observedUid)
        .map(({ metadata }) => metadata?.uid);
      expect(created === 0 || left + created === 1).toBe(true);
      expect(own).toEqual(expect.arrayContaining(deleted));
    });
    fc.assert(property);
  });

  test("creates no Pod for a Sandbox that the router considers asleep", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { actions } = decideNow(seen, now, settings);
      const createsPod = actions.some((action) => action.do === "create" && action.child === "pod");
      expect(createsPod && sleepReason(seen.sandbox) !== undefined).toBe(false);
    });
    fc.assert(property);
  });

  test("neither changes nor replaces a terminating Pod (POD-11)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const going = seen.pods.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined);
      const { actions } = decideNow(seen, now, settings);
      const touched = actions.flatMap((action) =>
        action.do === "patch" || action.do === "delete" ? [action.target.uid] : [],
      );
      expect(going.filter(({ metadata }) => touched.includes(metadata?.uid ?? ""))).toEqual([]);
      const makesPod = actions.some((action) => action.do === "create" && action.child === "pod");
      expect(makesPod && going.length > 0).toBe(false);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("creates no Pod for a Sandbox that is suspended or expired, and does nothing for one being deleted (POD-14)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { actions } = decideNow(seen, now, settings);
      const { metadata, spec } = seen.sandbox;
      const isOver = typeof spec.shutdownTime === "string" && Date.parse(spec.shutdownTime) <= now;
      const isToRun = spec.operatingMode !== "Suspended" && !isOver;
      const makesPod = actions.some((action) => action.do === "create" && action.child === "pod");
      expect(makesPod && !isToRun).toBe(false);
      expect(metadata.deletionTimestamp === undefined || actions.length === 0).toBe(true);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("never gives an object a second controller (ABUSE-13)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      for (const action of decideNow(seen, now, settings).actions) {
        const written = action.do === "patch" ? action.body : action.do === "create" ? action.object : {};
        const { ownerReferences } = (written as { metadata?: ObjectMeta }).metadata ?? {};
        const controllers = (ownerReferences ?? []).filter(({ controller }) => controller === true);
        expect(controllers.length).toBeLessThanOrEqual(1);
        expect(controllers.every(({ uid }) => uid === observedUid)).toBe(true);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  test("deletes no running Pod that a driver can save before it is saved or refused (STATE-1)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { spec, status } = seen.sandbox;
      const [pod] = seen.pods;
      const expired = typeof spec.shutdownTime === "string" && Date.parse(spec.shutdownTime) <= now;
      if (spec.suspendPolicy?.depth !== "Memory" || expired || seen.pods.length !== 1 || pod === undefined) return;
      const { phase, conditions } = pod.status ?? {};
      const answered = (type: string) => findCondition(conditions, `agents.x-k8s.io/${type}`)?.status;
      const isUnsaved = phase === "Running" && answered("Saveable") === "True" && answered("Saved") === undefined;
      const hasFailedRestore = findCondition(conditions, "PodRestored")?.status === "False";
      const { actions } = decideNow(seen, now, settings);
      const deletes = actions.some((action) => action.do === "delete" && action.child === "pod");
      expect({ status, isLost: deletes && isUnsaved && !hasFailedRestore }).toEqual({ status, isLost: false });
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test("deletes no saved Pod before the status records the image (STATE-1)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const [pod] = seen.pods;
      const { spec, status } = seen.sandbox;
      const expired = typeof spec.shutdownTime === "string" && Date.parse(spec.shutdownTime) <= now;
      const isSaved = findCondition(pod?.status?.conditions, "agents.x-k8s.io/Saved")?.status === "True";
      if (expired || seen.pods.length !== 1 || !isSaved || spec.suspendPolicy === undefined) return;
      const { actions } = decideNow(seen, now, settings);
      const deletes = actions.some((action) => action.do === "delete" && action.child === "pod");
      const { depth, restored } = status?.suspension ?? {};
      expect(deletes && (depth !== "Memory" || restored !== undefined)).toBe(false);
      const reports = actions.filter((action) => action.do === "report");
      expect(reports.map((report) => [deletes, report.status.suspension?.depth])).toEqual(
        reports.map(() => [false, "Memory"]),
      );
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test("guards every patch and delete with the UID, and the version where needed (ABUSE-12)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { actions } = decideNow(seen, now, settings);
      expect(actions.filter((action) => !isGuarded(action))).toEqual([]);
    });
    fc.assert(property);
  });

  test("always reports a valid Ready condition, unless the Sandbox is being deleted (STATUS-14)", () => {
    const property = fc.property(anyObserved, anySettings, (seen, settings) => {
      const { status, actions } = decideNow(seen, now, settings);
      const isGoing = actions.some((action) => action.do === "delete-sandbox");
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      const isGone = seen.sandbox.metadata.deletionTimestamp !== undefined;
      const mayBeSilent = status === undefined && (isGone || isGoing || seen.failures.length > 0);
      expect(mayBeSilent || isReportable(ready)).toBe(true);
    });
    fc.assert(property);
  });

  test("accepts any JSON as spec and reports what is wrong with it (ABUSE-1)", () => {
    const json = fc.jsonValue({ maxDepth: 2 });
    const container = fc.oneof(json, fc.record({ name: json, ports: json, command: json, args: json, env: json }));
    const podSpec = fc.record(
      { containers: fc.oneof(json, fc.array(container)), initContainers: json, volumes: json },
      any,
    );
    const podTemplate = fc.oneof(json, fc.record({ metadata: json, spec: fc.oneof(json, podSpec) }, any));
    const fields = { service: json, shutdownTime: json, shutdownPolicy: json, operatingMode: json, idlePolicy: json };
    const more = {
      suspendPolicy: json,
      restoreFrom: json,
      runtime: json,
      persistentVolumeClaimRetentionPolicy: json,
      volumeClaimTemplates: json,
    };
    const spec = fc.oneof(json, fc.record({ podTemplate, ...fields, ...more }, any));
    const property = fc.property(anyObserved, spec, anySettings, (seen, given, settings) => {
      const sandbox = { ...seen.sandbox, spec: given as unknown as Sandbox["spec"] };
      const { status, actions } = decideNow({ ...seen, sandbox }, now, settings);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      const isGone = sandbox.metadata.deletionTimestamp !== undefined;
      expect(isGone || isReportable(ready) || actions.length > 0 || seen.failures.length > 0).toBe(true);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
