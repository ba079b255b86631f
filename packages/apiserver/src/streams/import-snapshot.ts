import type { PodStreams, SnapshotPlace } from "@agent-sandbox/kube";
import type { WebSocket } from "ws";
import type { ResourceAttributes } from "../authorization/attributes.ts";
import type { ResourcePath } from "../request/request-path.ts";
import { snapshotGroup, snapshotPlural } from "./snapshot-archive.ts";

export const importProtocol = "v1.snapshot-import.agents.x-k8s.io";
/** The text message after the last piece of the archive. */
const endMessage = "end";
/** Messages that wait for the node. Beyond it, the connection is not read. */
const mostWaiting = 8;

/** The permission that importing needs beside that on the subresource. */
export function createSnapshot(namespace: string): ResourceAttributes {
  const place = { group: snapshotGroup, version: "v1alpha1", namespace, resource: snapshotPlural };
  return { kind: "resource", verb: "create", ...place, subresource: "", name: "" };
}

/** The snapshot that an upgrade request imports. Undefined for other paths. */
export function importOf({
  apiVersion,
  plural,
  namespace,
  name,
  subresource,
}: ResourcePath): SnapshotPlace | undefined {
  const isImport = apiVersion.split("/")[0] === snapshotGroup && plural === snapshotPlural && subresource === "import";
  return isImport && namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}

/**
 * Receives an archive as the binary messages of a WebSocket, up to a text message, and answers with a text message: a `Status`. A
 * connection that closes before that imports nothing.
 */
export async function serveImport(
  socket: WebSocket,
  node: NonNullable<PodStreams["snapshots"]>,
  place: SnapshotPlace,
): Promise<void> {
  const answered = new AbortController();
  const status = await node.import({ ...place, content: contentOf(socket, answered.signal) }).then(
    () => ({ status: "Success", details: { name: place.name } }),
    (error: unknown) => {
      const { reason = "InternalError", message } = error as { reason?: string; message?: string };
      return { status: "Failure", reason, message: String(message) };
    },
  );
  // What is still on its way is not needed. It is read, because a client that cannot send does not see the answer.
  answered.abort();
  socket.resume();
  socket.send(JSON.stringify({ apiVersion: "v1", kind: "Status", ...status }), () => socket.close(1000));
}

/** Keeps what arrives before it is read, and drops what arrives after the answer. */
function contentOf(socket: WebSocket, answered: AbortSignal): AsyncGenerator<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let isComplete = false;
  let isClosed = false;
  let wake = (): void => undefined;
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (answered.aborted) return;
    if (isBinary) waiting.push(data);
    else isComplete ||= data.toString() === endMessage;
    if (waiting.length >= mostWaiting) socket.pause();
    wake();
  });
  socket.on("close", () => {
    isClosed = true;
    wake();
  });
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        if (waiting.length === 0) socket.resume();
        yield next;
      } else if (isComplete) return;
      else if (isClosed) throw new Error("Cannot import the archive: the connection has ended");
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return pieces();
}
