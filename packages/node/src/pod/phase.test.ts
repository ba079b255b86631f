import type { ContainerStatus, Pod } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import type { Role } from "./members.ts";
import { phaseOf } from "./phase.ts";

type Policy = "Always" | "OnFailure" | "Never";

const pod = (restartPolicy: Policy): Pod => ({ spec: { restartPolicy, containers: [] } });
/** `.` never ran, `r` runs, `w` waits to run again, a digit is an exit code. */
function status(mark: string): ContainerStatus {
  const base = { name: "c", image: "", imageID: "", ready: false, restartCount: 0 };
  const ended = { terminated: { exitCode: 1 } };
  if (mark === "r") return { ...base, state: { running: {} } };
  if (mark === "w") return { ...base, state: { waiting: {} }, lastState: ended };
  if (mark === ".") return { ...base, state: { waiting: {} }, lastState: {} };
  return { ...base, state: { terminated: { exitCode: Number(mark) } } };
}
const of = (role: Role, marks: string) => marks.split("").map((mark) => ({ role, status: status(mark) }));

test.for([
  ["no container has started", "Always", "", "", ".", "Pending"],
  ["an init container runs", "Always", "r", "", ".", "Pending"],
  ["an init container waits for its restart", "Always", "w", "", ".", "Pending"],
  ["the second of two init containers has not started", "Always", "0.", "", ".", "Pending"],
  ["an init container has failed and will not restart", "Never", "1", "", ".", "Failed"],
  ["an init container has failed and will restart", "OnFailure", "1", "", ".", "Pending"],
  ["only the sidecars have started", "Always", "0", "r", ".", "Pending"],
  ["one of two main containers has not started", "Always", "", "", "r.", "Pending"],
  ["all run", "Always", "0", "r", "rr", "Running"],
  ["one main container waits for its restart", "Always", "", "", "rw", "Running"],
  ["all main containers wait for their restart", "Always", "", "", "ww", "Running"],
  ["one main container has ended, one runs", "Never", "", "", "0r", "Running"],
  ["all main containers succeeded", "Never", "0", "", "00", "Succeeded"],
  ["one main container failed", "Never", "", "", "02", "Failed"],
  ["the exit code of a sidecar does not count", "Never", "", "1", "0", "Succeeded"],
] as const)("%s", ([, policy, inits, sidecars, mains, phase]) => {
  expect(phaseOf(pod(policy), [...of("init", inits), ...of("sidecar", sidecars), ...of("main", mains)])).toBe(phase);
});
