import type { Pod } from "@agent-sandbox/api";
import { writeContainer } from "./create-container.ts";
import type { Effects } from "./effects.ts";
import { memberNamed } from "./members.ts";
import { pullTask } from "./plan-containers.ts";
import { runtimeOf } from "./pod-runtime.ts";
import type { Failure, PodRecord } from "./record.ts";
import type { Problem } from "./status.ts";

/** Records why a container could not start and emits an event. The retry pulls the image again. */
export async function recordFailure(
  { machine, rules, tasks, recordEvent }: Effects,
  pod: Pod,
  record: PodRecord,
  { container, problem }: { readonly container: string; readonly problem: Problem },
): Promise<void> {
  const before = record.containers[container];
  const runtime = runtimeOf(pod, record, rules.defaultRuntime);
  const failure: Failure = { ...problem, at: machine.now(), tries: (before?.failure?.tries ?? 0) + 1 };
  await writeContainer(machine, record, container, { ...(before ?? { attempt: 0, runtime }), failure });
  tasks.forget(record.uid, pullTask(container));
  const image = memberNamed(pod, container)?.container.image ?? "";
  if (problem.reason !== "ErrImagePull") {
    return recordEvent(pod, { type: "Warning", reason: "Failed", text: `Error: ${problem.message}`, container });
  }
  recordEvent(pod, {
    type: "Warning",
    reason: "Failed",
    text: `Failed to pull image "${image}": ${problem.message}`,
    container,
  });
  if (failure.tries > 1) recordEvent(pod, { reason: "BackOff", text: `Back-off pulling image "${image}"`, container });
}
