import { Readable } from "node:stream";
import type { PodPlace } from "@agent-sandbox/kube";
import type { StreamReply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { isPlaced, logOptions } from "./log-request.ts";
import { fromNode, notOffered } from "./node-error.ts";

/** Answers `pods/{name}/log` with the log of a container, read by the node. */
export async function logReply({ context, query, request }: ReplyContext, target: ObjectTarget): Promise<StreamReply> {
  const place: PodPlace = { namespace: target.namespace ?? "", pod: target.name };
  const found = context.store.get("pods", keyOfTarget(target))?.object;
  const options = logOptions(place, query, { found, nowMs: context.clock.now() });
  if (!isPlaced(found)) return { kind: "stream", status: 204, headers: {}, body: Readable.from([]) };
  const { podStreams } = context;
  if (podStreams?.logs === undefined) throw notOffered("logs");
  try {
    const body = await podStreams.logs(options);
    body.on("error", (error) => context.logger.warn({ err: error, ...place }, "cannot read the log to its end"));
    // Stop following when the client disconnects or the server closes.
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
