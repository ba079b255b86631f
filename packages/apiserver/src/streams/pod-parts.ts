import { Readable } from "node:stream";
import type { PodPlace } from "@agent-sandbox/kube";
import { ApiError, badRequest, methodNotAllowed, notFound, pathNotFound } from "../api-error.ts";
import type { Reply, StreamReply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { bind } from "./binding.ts";
import { evict } from "./eviction.ts";
import { isPlaced, logOptions } from "./log-request.ts";
import { fromNode, notOffered } from "./node-error.ts";
import { existing } from "./pod-container.ts";

/** The parts of Pods, Services and Nodes that are not stored: what goes on in them, and things done to them. */
export async function routePart(call: ReplyContext, target: ObjectTarget): Promise<Reply> {
  const part = `${target.definition.id}/${target.subresource}`;
  switch (part) {
    case "pods/log":
      if (call.request.method !== "GET") throw methodNotAllowed();
      return logReply(call, target);
    case "pods/eviction":
      if (call.request.method !== "POST") throw methodNotAllowed();
      return evict(call, target);
    case "pods/exec":
    case "pods/attach":
    case "pods/portforward":
      existing(call.context.store.get("pods", keyOfTarget(target))?.object, target.name);
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

/** The box's node answers in this process, and of all that a kubelet serves it has the figures of its Pods. */
async function metricsReply({ context, request }: ReplyContext, target: ObjectTarget): Promise<StreamReply> {
  const { plural } = target.definition;
  if (context.store.get("nodes", keyOfTarget(target)) === undefined)
    throw notFound({ group: "", plural, name: target.name });
  const { podStreams } = context;
  if (podStreams?.metrics === undefined) throw notOffered("metrics");
  const path = /\/proxy(\/[^?]*)/.exec(request.url)?.[1] ?? "/";
  try {
    const body = await podStreams.metrics(path);
    return { kind: "stream", status: 200, headers: { "content-type": "text/plain; version=0.0.4" }, body };
  } catch (error) {
    throw fromNode(error);
  }
}

async function logReply({ context, query, request }: ReplyContext, target: ObjectTarget): Promise<StreamReply> {
  const place: PodPlace = { namespace: target.namespace ?? "", pod: target.name };
  const found = context.store.get("pods", keyOfTarget(target))?.object;
  const options = logOptions(place, query, { found, nowMs: context.clock.now() });
  if (!isPlaced(found)) return { kind: "stream", status: 204, headers: {}, body: Readable.from([]) };
  const { podStreams } = context;
  if (podStreams?.logs === undefined) throw notOffered("logs");
  try {
    const body = await podStreams.logs(options);
    body.on("error", (error) => context.logger.warn({ err: error, ...place }, "log not read to its end"));
    // A follower whose client goes, or whose server closes, has nobody to follow for.
    for (const signal of [request.signal, context.closing]) {
      const stop = (): unknown => body.destroy();
      signal?.addEventListener("abort", stop, { once: true });
      body.once("close", () => signal?.removeEventListener("abort", stop));
      if (signal?.aborted) stop();
    }
    return { kind: "stream", status: 200, headers: { "content-type": "text/plain" }, body };
  } catch (error) {
    throw fromNode(error);
  }
}
