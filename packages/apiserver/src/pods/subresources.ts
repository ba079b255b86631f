import { ApiError, badRequest, methodNotAllowed, pathNotFound } from "../api-error.ts";
import type { Reply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { logReply } from "../streams/log-reply.ts";
import { metricsReply } from "../streams/node-metrics.ts";
import { bind } from "./binding.ts";
import { evict } from "./eviction.ts";
import { existingPod } from "./existing-pod.ts";

/** Answers subresources of Pods, Services and Nodes that are not stored, such as logs, bindings and evictions. */
export async function routeSubresource(call: ReplyContext, target: ObjectTarget): Promise<Reply> {
  const subresource = `${target.definition.id}/${target.subresource}`;
  switch (subresource) {
    case "pods/log":
      if (call.request.method !== "GET") throw methodNotAllowed();
      return logReply(call, target);
    case "pods/eviction":
      if (call.request.method !== "POST") throw methodNotAllowed();
      return evict(call, target);
    case "pods/exec":
    case "pods/attach":
    case "pods/portforward":
      existingPod(call.context.store.get("pods", keyOfTarget(target))?.object, target.name);
      throw badRequest("Upgrade request required");
    case "pods/binding":
      if (call.request.method !== "POST") throw methodNotAllowed();
      return bind(call, target);
    case "nodes/proxy":
      if (call.request.method !== "GET") throw methodNotAllowed();
      return metricsReply(call, target);
    case "pods/proxy":
    case "services/proxy":
      throw new ApiError(
        "MethodNotAllowed",
        `Cannot proxy to ${target.definition.plural} "${target.name}" from within the server's process: use port-forward`,
      );
    default:
      throw pathNotFound();
  }
}
