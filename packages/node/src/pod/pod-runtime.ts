import type { Pod } from "@agent-sandbox/api";
import { isLive } from "./plan-stop.ts";
import type { PodRecord } from "./record.ts";

/**
 * What the next container of a Pod runs with. One that joins others shares their namespaces, or their sandbox: it runs
 * with what they run with, also when the default has become another since they were started.
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
