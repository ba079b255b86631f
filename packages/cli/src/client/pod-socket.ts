import type { ClusterAccess } from "@agent-sandbox/kube/requests";
import type { WebSocket } from "ws";
import { CommandError } from "../command-error.ts";
import { refusalOf, requestOptions } from "./raw-request.ts";

/** Loads the WebSocket library, which takes longer than the rest of most commands. A command can begin while it waits for a server. */
export async function loadSockets(): Promise<typeof import("ws")> {
  return import("ws");
}

/** Opens a WebSocket to an API server. Throws the server's message if it refuses. */
export async function openSocket(access: ClusterAccess, path: string, protocol: string): Promise<WebSocket> {
  const [{ WebSocket }, { url, ...options }] = await Promise.all([loadSockets(), requestOptions(access, path)]);
  const socket = new WebSocket(url.replace(/^http/, "ws"), [protocol], options);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve).once("error", reject);
    socket.once("unexpected-response", (_request, response) => {
      refusalOf(response).then((message) => reject(new CommandError(message)), reject);
    });
  });
  return socket;
}
