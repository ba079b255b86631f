import { Readable } from "node:stream";
import type { PodPlace } from "@agent-sandbox/kube";
import type { StreamReply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget } from "../request/target.ts";
import { isPlaced, logOptions } from "./log-request.ts";
import { fromNode, notOffered } from "./node-error.ts";
import { beginSession } from "./pod-session.ts";

/** Answers `pods/{name}/log` with the log of a container, read by the node. */
export async function logReply(call: ReplyContext, target: ObjectTarget): Promise<StreamReply> {
  const { context, query, request } = call;
  const place: PodPlace = { namespace: target.namespace ?? "", pod: target.name };
  using sessions = new DisposableStack();
  if (query.flag("follow")) sessions.use(await followSession(call, place));
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
    const ended = sessions.move();
    body.once("close", () => ended.dispose());
    return { kind: "stream", status: 200, headers: { "content-type": "text/plain" }, body };
  } catch (error) {
    throw fromNode(error);
  }
}

const createExec = {
  kind: "resource",
  verb: "create",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "exec",
} as const;

/**
 * A followed log is a session with its Pod. Callers who may only read can follow a log too, so it wakes a Sandbox, and keeps it
 * awake, only for callers who may run commands in the Pod.
 */
async function followSession({ context, request }: ReplyContext, { namespace, pod }: PodPlace): Promise<Disposable> {
  const { allowed } = context.access.authorizer.decide(request.identity, { ...createExec, namespace, name: pod });
  if (!allowed) return { [Symbol.dispose]: () => undefined };
  const signals = [request.signal, context.closing].filter((signal) => signal !== undefined);
  return beginSession(context, { resource: "pods", namespace, name: pod }, AbortSignal.any(signals));
}
