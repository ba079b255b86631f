import type { Sandbox, SandboxWarmPool } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { condition, epoch, memberNamed, poolOf } from "../extensions.test.support.ts";
import { facetsOf } from "./members.ts";
import { judge, type Scene } from "./pool.test.support.ts";

const pull = 'container "c": cannot pull image "x": not found';
const member = (name: string, message: string): Sandbox =>
  memberNamed(name, { status: { conditions: [condition("Ready", "False", "DependenciesNotReady", { message })] } });
const troubled = (name: string, sentence = pull): Sandbox =>
  member(name, `Pod exists with phase: Pending; ${sentence}`);
const readyOf = (status: SandboxWarmPool["status"]) => status?.conditions?.find(({ type }) => type === "Ready");

/** The pool as it is after its status was written. */
const reported = (scene: Scene): SandboxWarmPool => {
  const { status } = judge(scene);
  return { ...poolOf(), ...(status && { status }) };
};

describe("a pool whose members cannot start", () => {
  const sandboxes = [memberNamed("a"), troubled("b"), memberNamed("c")];

  test("says why at once, with one event (POOL-54)", () => {
    const pool = reported({ sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)) });
    const { status, events } = judge({ pool, sandboxes });
    expect(readyOf(status)).toMatchObject({
      status: "False",
      reason: "MembersNotReady",
      message: `Not all members are Ready yet; ${pull}`,
    });
    expect(events).toMatchObject([{ type: "Warning", reason: "WarmPoolNotProgressing", text: pull }]);
    const after = { ...pool, ...(status && { status }) };
    expect(judge({ pool: after, sandboxes })).toMatchObject({ events: [] });
  });

  test("says the same while a member still has that trouble, and else another (POOL-54)", () => {
    const pool = reported({ sandboxes });
    const other = 'container "c": exited with code 3 (Error) and is restarted';
    const both = [troubled("a", other), troubled("b"), memberNamed("c")];
    expect(judge({ pool, sandboxes: both }).events).toEqual([]);
    const replaced = [troubled("a", other), memberNamed("b"), memberNamed("c")];
    expect(judge({ pool, sandboxes: replaced }).events).toMatchObject([{ text: other }]);
  });

  test("says nothing of members that are Ready or starting (POOL-54)", () => {
    const probe = 'Pod is Running but not Ready; the readiness probe of container "c" has not succeeded';
    const { status, events } = judge({ sandboxes: [memberNamed("a"), member("b", probe), memberNamed("c")] });
    expect(readyOf(status)?.message).toBe("Not all members are Ready yet");
    expect(events).toEqual([]);
    const pool = reported({ sandboxes });
    const healed = judge({ pool, sandboxes: ["a", "b", "c"].map((name) => memberNamed(name)) });
    expect(readyOf(healed.status)).toMatchObject({ status: "True", message: "All members are Ready" });
  });

  test("leaves events about Pods that do not fit to the readiness grace (POOL-17, POOL-54)", () => {
    const full = troubled("a", "cannot be scheduled: 0/1 nodes are available");
    const conditions = [...(full.status?.conditions ?? []), condition("PodScheduled", "False", "Unschedulable")];
    const scene = { sandboxes: [{ ...full, status: { conditions } }, memberNamed("b"), memberNamed("c")] };
    const early = judge(scene);
    expect(early.events).toEqual([]);
    expect(readyOf(early.status)?.message).toBe(
      "Not all members are Ready yet; cannot be scheduled: 0/1 nodes are available",
    );
    const late = judge(scene, epoch + 6 * 60_000);
    expect(late.events).toHaveLength(1);
    expect(readyOf(late.status)).toMatchObject({
      reason: "Unschedulable",
      message: "1 members cannot be scheduled: 0/1 nodes are available",
    });
  });

  test("is reconciled when the trouble of a member changes, and not when only a number in it does (POOL-54)", () => {
    const facets = (sentence: string): string[] => facetsOf(troubled("a", sentence));
    expect(facets(pull)).not.toEqual(facets(pull.replace("not found", "unauthorized")));
    expect(facets(`${pull} (port 40312)`)).toEqual(facets(`${pull} (port 55120)`));
  });
});
