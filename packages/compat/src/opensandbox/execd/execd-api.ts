import { findRoute, type Route } from "../../control/route.ts";
import { sendJson } from "../../http/reply.ts";
import { sendRest } from "../../runtime/rest.ts";
import {
  createCodeContext,
  deleteCodeContext,
  deleteCodeContexts,
  getCodeContext,
  listCodeContexts,
} from "./code-contexts.ts";
import { execute, interruptCode } from "./code-run.ts";
import { commandLogs, commandStatus, interruptCommand, runCommand } from "./commands.ts";
import type { ExecdCall } from "./context.ts";
import { download } from "./download.ts";
import { unsupported } from "./execd-error.ts";
import { deleteDirectories, deleteFiles, makeDirectories, moveFiles, setPermissions } from "./files-change.ts";
import { filesInfo, listDirectory, searchFiles } from "./files-read.ts";
import { metrics, watchMetrics } from "./metrics.ts";
import { replaceContents } from "./replace-contents.ts";
import { createSession, deleteSession, runInSession } from "./sessions.ts";
import { upload } from "./upload.ts";

type Handler = (call: ExecdCall, param: string) => Promise<void>;

const refused =
  (feature: string): Handler =>
  async () => {
    throw unsupported(feature);
  };

/** Clients wait for this answer until a sandbox can be used. */
const ping: Handler = async ({ context, target, response, signal }) => {
  (await sendRest(context.runtime, target, { method: "GET", path: "/v1/health", signal })).resume();
  sendJson(response, 200, {});
};

const isolation: Handler = async ({ response }) =>
  sendJson(response, 200, { available: false, message: "Isolated sessions are not supported by this server" });

const routes: readonly Route<Handler>[] = [
  ["GET", /^\/ping$/, ping],
  ["POST", /^\/command$/, runCommand],
  ["DELETE", /^\/command$/, interruptCommand],
  ["GET", /^\/command\/status\/([^/]+)$/, commandStatus],
  ["GET", /^\/command\/([^/]+)\/logs$/, commandLogs],
  ["POST", /^\/session$/, createSession],
  ["POST", /^\/session\/([^/]+)\/run$/, runInSession],
  ["DELETE", /^\/session\/([^/]+)$/, deleteSession],
  ["POST", /^\/files\/upload$/, upload],
  ["GET", /^\/files\/download$/, download],
  ["GET", /^\/files\/info$/, filesInfo],
  ["GET", /^\/files\/search$/, searchFiles],
  ["POST", /^\/files\/permissions$/, setPermissions],
  ["POST", /^\/files\/mv$/, moveFiles],
  ["POST", /^\/files\/replace$/, replaceContents],
  ["DELETE", /^\/files$/, deleteFiles],
  ["GET", /^\/directories\/list$/, listDirectory],
  ["POST", /^\/directories$/, makeDirectories],
  ["DELETE", /^\/directories$/, deleteDirectories],
  ["POST", /^\/code\/context$/, createCodeContext],
  ["GET", /^\/code\/contexts$/, listCodeContexts],
  ["DELETE", /^\/code\/contexts$/, deleteCodeContexts],
  ["GET", /^\/code\/contexts\/([^/]+)$/, getCodeContext],
  ["DELETE", /^\/code\/contexts\/([^/]+)$/, deleteCodeContext],
  ["POST", /^\/code$/, execute],
  ["DELETE", /^\/code$/, interruptCode],
  ["GET", /^\/metrics$/, metrics],
  ["GET", /^\/metrics\/watch$/, watchMetrics],
  ["GET", /^\/v1\/isolated\/capabilities$/, isolation],
  ["*", /^\/v1\/isolated(?:\/.*)?$/, refused("An isolated session")],
  ["*", /^\/v1\/filesystem\/.*$/, refused("Access to files as another user")],
  ["*", /^\/pty(?:\/.*)?$/, refused("A terminal")],
];

/** The protocol of OpenSandbox's daemon, for a request whose token was verified. */
export async function serveExecd(call: ExecdCall): Promise<void> {
  const { handler, params } = findRoute(routes, call.request.method ?? "GET", call.url.pathname);
  await handler(call, params[0] ?? "");
}
