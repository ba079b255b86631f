import type { LogRequest, PodPlace } from "@agent-sandbox/kube";
import { badRequest } from "../api-error.ts";
import { type ApiObject, stringAt, valueAt } from "../api-object.ts";
import { existingPod } from "../pods/existing-pod.ts";
import type { Query } from "../request/query.ts";
import { containerOf, statusOf } from "./pod-container.ts";

/** Parses a `pods/log` request and checks it against the Pod, with the error messages of Kubernetes. */
export function logOptions(
  place: PodPlace,
  query: Query,
  { found, nowMs }: { readonly found: ApiObject | undefined; readonly nowMs: number },
): LogRequest {
  const pod = existingPod(found, place.pod);
  const container = containerOf(pod, query.text("container"));
  const [sinceMs, tailLines, limitBytes] = [since(query, nowMs), query.count("tailLines"), limit(query)];
  const stream = query.oneOf("stream", ["All", "Stdout", "Stderr"]) ?? "All";
  const previous = query.flag("previous");
  const problem = logProblem(pod, container, previous);
  if (problem !== undefined) throw badRequest(problem);
  return {
    ...place,
    container,
    previous,
    follow: query.flag("follow"),
    timestamps: query.flag("timestamps"),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(stream === "All" ? {} : { stream: stream === "Stdout" ? ("stdout" as const) : ("stderr" as const) }),
  };
}

/** Whether the Pod is bound to a node. */
export const isPlaced = (pod: unknown): boolean => (stringAt(pod, "spec", "nodeName") ?? "") !== "";

function since(query: Query, nowMs: number): number | undefined {
  const [seconds, time] = [query.count("sinceSeconds"), query.text("sinceTime")];
  if (seconds !== undefined && time !== undefined)
    throw badRequest("at most one of sinceTime or sinceSeconds may be specified");
  if (seconds === 0) throw badRequest("sinceSeconds must be greater than 0");
  if (seconds !== undefined) return nowMs - seconds * 1000;
  if (time === undefined || time === "") return undefined;
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) throw badRequest(`sinceTime must be a time as RFC 3339 writes it, not "${time}"`);
  return atMs;
}

function limit(query: Query): number | undefined {
  const bytes = query.count("limitBytes");
  if (bytes === 0) throw badRequest("limitBytes must be greater than 0");
  return bytes;
}

/** Why there is no log, or undefined when there is one or the Pod is not bound to a node. */
function logProblem(pod: ApiObject, container: string, previous: boolean): string | undefined {
  if (!isPlaced(pod)) return undefined;
  const status = statusOf(pod, container);
  const what = `container "${container}" in pod "${pod.metadata.name}"`;
  const hasRunBefore = valueAt(status, "lastState", "terminated") !== undefined;
  if (previous) return hasRunBefore ? undefined : `previous terminated ${what} not found`;
  const state = valueAt(status, "state");
  if (hasRunBefore || valueAt(state, "running") !== undefined || valueAt(state, "terminated") !== undefined)
    return undefined;
  return `${what} is waiting to start: ${stringAt(state, "waiting", "reason") ?? "ContainerCreating"}`;
}
