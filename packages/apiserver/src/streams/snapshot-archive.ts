import { badRequest, methodNotAllowed, notFound } from "../api-error.ts";
import type { StreamReply } from "../request/api-request.ts";
import type { ReplyContext } from "../request/replies.ts";
import { keyOfTarget, type ObjectTarget, subjectOf } from "../request/target.ts";
import { fromNode, notOffered } from "./node-error.ts";

export const snapshotGroup = "snapshots.agents.x-k8s.io";
export const snapshotPlural = "sandboxsnapshots";

/** Whether a request is for `sandboxsnapshots/{name}/export` or `import`. */
export function isSnapshotArchive({ version, definition, subresource }: ObjectTarget): boolean {
  const isSnapshot = version.group === snapshotGroup && definition.plural === snapshotPlural;
  return isSnapshot && (subresource === "export" || subresource === "import");
}

/** Answers `sandboxsnapshots/{name}/export` with the archive of the snapshot. */
export async function snapshotArchiveReply(
  { context, request }: ReplyContext,
  target: ObjectTarget,
): Promise<StreamReply> {
  const { namespace = "", name, subresource } = target;
  if (request.method !== "GET") throw methodNotAllowed();
  if (subresource === "import") throw badRequest("Upgrade request required");
  if (context.store.get(target.definition.id, keyOfTarget(target)) === undefined)
    throw notFound(subjectOf(target, name));
  const { snapshots } = context.podStreams ?? {};
  if (snapshots === undefined) throw notOffered("archives of snapshots");
  try {
    const body = await snapshots.export({ namespace, name }, request.signal);
    body.on("error", (error) => context.logger.warn({ err: error, namespace, name }, "snapshot not exported"));
    for (const signal of [request.signal, context.closing]) {
      const stop = (): unknown => body.destroy();
      signal?.addEventListener("abort", stop, { once: true });
      body.once("close", () => signal?.removeEventListener("abort", stop));
      if (signal?.aborted) stop();
    }
    return { kind: "stream", status: 200, headers: { "content-type": "application/x-tar" }, body };
  } catch (error) {
    throw fromNode(error);
  }
}
