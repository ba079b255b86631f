import type { Pod } from "@agent-sandbox/api";
import { isLive } from "./plan-stop.ts";
import type { PodRecord } from "./record.ts";

/**
 * The runtime of a Pod's next container. Containers of a Pod share namespaces or a sandbox, so all use the runtime of those
 * that run, even if the default has changed since.
 */
export function runtimeOf(pod: Pod, record: Pick<PodRecord, "containers" | "ids">, defaultRuntime: string): string {
  const live = Object.values(record.containers).find(isLive);
  return live?.runtime ?? record.ids?.runtime ?? pod.spec?.runtimeClassName ?? defaultRuntime;
}

/** The runtimes that containers of a Pod have run with. */
export function runtimesSoFar({ containers }: Pick<PodRecord, "containers">): readonly string[] {
  return Object.values(containers).flatMap(({ run, ended, last, runtime }) =>
    (run ?? ended ?? last) === undefined ? [] : [runtime],
  );
}
