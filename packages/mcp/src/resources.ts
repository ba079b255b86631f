import { isUtf8 } from "node:buffer";
import { type Sandbox, trackedPodName } from "@agent-sandbox/api";
import { isSandboxError } from "@agent-sandbox/sdk";
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import type { Call, Caller, Settings } from "./caller.ts";
import { sandboxUri } from "./results/file-uri.ts";
import { describeSandbox } from "./sandboxes/describe-sandbox.ts";
import { findSandbox } from "./sandboxes/find-sandbox.ts";
import { type FoundSandbox, handleOf } from "./sandboxes/found-sandbox.ts";
import { listSandboxes } from "./sandboxes/list-sandboxes.ts";
import { readUpTo } from "./tools/read-file.ts";

const maxListed = 500;
const maxFileBytes = 4_194_304;

/** Sandboxes and their files as resources. */
export function registerResources(
  server: McpServer,
  connection: { readonly caller: Caller; readonly settings: Settings },
): void {
  const callOf = (signal: AbortSignal): Call => ({ ...connection, signal, progress: () => undefined });
  const sandboxTemplate = new ResourceTemplate("sandbox://{namespace}/{sandbox}", {
    list: async ({ mcpReq }) => {
      const all = await listSandboxes(callOf(mcpReq.signal), connection.caller.namespace);
      const shown = all.slice(0, maxListed).map((found) => ({
        uri: sandboxUri(found),
        name: found.name,
        description: `Sandbox, ${describeSandbox(found).status}`,
        mimeType: "application/json",
      }));
      return { resources: shown };
    },
  });
  server.registerResource(
    "sandbox",
    sandboxTemplate,
    { title: "Sandbox", description: "The state of a sandbox", mimeType: "application/json" },
    async (uri, variables, { mcpReq }) => {
      const found = await findOr404(callOf(mcpReq.signal), uri, variables);
      return {
        contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(describeSandbox(found)) }],
      };
    },
  );
  server.registerResource(
    "file",
    new ResourceTemplate("sandbox://{namespace}/{sandbox}/files/{+path}", { list: undefined }),
    { title: "File", description: "A file of a sandbox, of at most 4 MiB" },
    async (uri, variables, { mcpReq }) => {
      const call = callOf(mcpReq.signal);
      const found = await findOr404(call, uri, variables);
      const path = decodePath(uri, textOf(variables["path"]));
      const bytes = await readUpTo(handleOf(call.caller, found), path, {
        offset: 0,
        limit: maxFileBytes + 1,
        signal: call.signal,
      }).catch((error: unknown) => {
        throw isSandboxError(error, "NotFound") ? new ResourceNotFoundError(uri.href) : error;
      });
      if (bytes.length > maxFileBytes)
        throw invalid(`Cannot read "${path}": it is larger than 4 MiB. Use read_file with ranges`);
      const isText = isUtf8(bytes) && !bytes.includes(0);
      const content = isText
        ? { text: bytes.toString("utf8"), mimeType: "text/plain" }
        : { blob: bytes.toString("base64") };
      return { contents: [{ uri: uri.href, ...content }] };
    },
  );
  registerLog(server, callOf);
}

function registerLog(server: McpServer, callOf: (signal: AbortSignal) => Call): void {
  server.registerResource(
    "log",
    new ResourceTemplate("sandbox://{namespace}/{sandbox}/logs", { list: undefined }),
    { title: "Log", description: "What the main process of a sandbox has printed last", mimeType: "text/plain" },
    async (uri, variables, { mcpReq }) => {
      const { caller, signal } = callOf(mcpReq.signal);
      const { namespace, object } = await findOr404(callOf(signal), uri, variables);
      const name = object && trackedPodName(object as unknown as Sandbox);
      const text = name === undefined ? undefined : await caller.readLog({ namespace, name }, signal);
      if (text === undefined) throw new ResourceNotFoundError(uri.href);
      return { contents: [{ uri: uri.href, mimeType: "text/plain", text }] };
    },
  );
}

type Variables = Readonly<Record<string, string | readonly string[] | undefined>>;

async function findOr404(call: Call, uri: URL, variables: Variables): Promise<FoundSandbox> {
  const found = await findSandbox(call, namesOf(uri, variables));
  if (found === undefined) throw new ResourceNotFoundError(uri.href);
  return found;
}

/** The host of a URI is a namespace. */
function namesOf(uri: URL, variables: Variables): { readonly namespace: string; readonly name: string } {
  const [namespace, name] = [textOf(variables["namespace"]), textOf(variables["sandbox"])];
  const isName = (text: string): boolean => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
  if (!isName(namespace) || !isName(name)) throw new ResourceNotFoundError(uri.href);
  return { namespace, name };
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : (value?.join("/") ?? "");
}

function decodePath(uri: URL, path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new ResourceNotFoundError(uri.href);
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
