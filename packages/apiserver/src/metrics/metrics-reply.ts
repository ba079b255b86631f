import { Exposition, expositionType, labelText } from "@agent-sandbox/api";
import { methodNotAllowed } from "../api-error.ts";
import type { ApiRequest, TextReply } from "../request/api-request.ts";
import type { ApiContext } from "../verbs/context.ts";
import { writeProcess } from "./process-metrics.ts";

export const metricsPath = "/metrics";

/** Serves the metrics of the server in the Prometheus text format, with the names of kube-apiserver. */
export function metricsReply(context: ApiContext, { method }: Pick<ApiRequest, "method">): TextReply {
  if (method !== "GET") throw methodNotAllowed();
  const to = new Exposition();
  context.metrics.write(to);
  writeObjects(to, context);
  writeProcess(to);
  return { kind: "text", status: 200, headers: { "content-type": expositionType }, text: to.toString() };
}

function writeObjects(to: Exposition, { registry, store }: ApiContext): void {
  const kept = registry.definitions
    .filter(({ review }) => review === undefined)
    .map(({ id, plural, versions: [{ group }] }) => ({ group, resource: plural, count: store.count(id) }));
  to.metric("apiserver_storage_objects", "gauge", "Objects that are kept, by the full name of their resource.");
  for (const { group, resource, count } of kept) {
    const name = group === "" ? resource : `${resource}.${group}`;
    to.sample("apiserver_storage_objects", labelText({ resource: name }), count);
  }
  to.metric("apiserver_resource_objects", "gauge", "Objects that are kept, by group and resource.");
  for (const { group, resource, count } of kept) {
    to.sample("apiserver_resource_objects", labelText({ group, resource }), count);
  }
}
