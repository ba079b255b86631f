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
  ["nothing has begun", "Always", "", "", ".", "Pending"],
  ["an init container runs", "Always", "r", "", ".", "Pending"],
  ["an init container waits to be tried again", "Always", "w", "", ".", "Pending"],
  ["the second of two init containers has not begun", "Always", "0.", "", ".", "Pending"],
  ["an init container has failed for good", "Never", "1", "", ".", "Failed"],
  ["an init container has failed, and others may try", "OnFailure", "1", "", ".", "Pending"],
  ["sidecars run, the rest does not yet", "Always", "0", "r", ".", "Pending"],
  ["one of two has not begun", "Always", "", "", "r.", "Pending"],
  ["all run", "Always", "0", "r", "rr", "Running"],
  ["one waits to run again", "Always", "", "", "rw", "Running"],
  ["all wait to run again", "Always", "", "", "ww", "Running"],
  ["one is over, one runs", "Never", "", "", "0r", "Running"],
  ["all ended well", "Never", "0", "", "00", "Succeeded"],
  ["one did not", "Never", "", "", "02", "Failed"],
  ["a sidecar's end does not count", "Never", "", "1", "0", "Succeeded"],
] as const)("%s", ([, policy, inits, sidecars, mains, phase]) => {
  expect(phaseOf(pod(policy), [...of("init", inits), ...of("sidecar", sidecars), ...of("main", mains)])).toBe(phase);
});
