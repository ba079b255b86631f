import { notFound } from "../api-error.ts";
import type { StreamReply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { fromNode, notOffered } from "./node-error.ts";

/** Answers `nodes/{name}/proxy/metrics...`: of the endpoints that a kubelet serves, the embedded node has the metrics of its Pods. */
export async function metricsReply({ context, request }: ReplyContext, target: ObjectTarget): Promise<StreamReply> {
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
