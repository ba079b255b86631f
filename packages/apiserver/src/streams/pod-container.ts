import { badRequest } from "../api-error.ts";
import { type ApiObject, objectsAt, stringAt } from "../api-object.ts";

/** The container that a request means. The errors are those of kubelet and kube-apiserver, which kubectl expects. */
export function containerOf(pod: ApiObject, asked: string | undefined): string {
  const [names, initial, added] = ["containers", "initContainers", "ephemeralContainers"].map((list) =>
    objectsAt(pod, "spec", list).flatMap((each) => stringAt(each, "name") ?? []),
  ) as [string[], string[], string[]];
  const { name } = pod.metadata;
  if (asked === undefined || asked === "") {
    if (names.length === 1) return names[0] as string;
    const choices = [...initial, ...names].join(" ");
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${choices}]`);
  }
  if (![...names, ...initial, ...added].includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  return asked;
}

/** The status of a container, or `undefined` when the node has not reported one yet. */
export function statusOf(pod: ApiObject, container: string): unknown {
  const statuses = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
  return statuses
    .flatMap((list) => objectsAt(pod, "status", list))
    .find((each) => stringAt(each, "name") === container);
}
