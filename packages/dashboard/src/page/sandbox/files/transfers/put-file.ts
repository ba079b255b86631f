/**
 * Sends a file to the runtime API with XMLHttpRequest. Unlike `fetch`, it reports how much was sent; the browser reads the file from disk
 * while it sends it.
 */
import type { Session } from "../../../data/session.ts";
import { FileExists } from "./transfers.ts";

/** The port of sandboxd's API for files. */
const port = 8080;

export interface Place {
  readonly session: Session;
  readonly namespace: string;
  readonly name: string;
}

export interface PutOptions {
  /** Default: replaces what is there. A text: only if the file has this etag, else it fails with `FileChanged`. */
  readonly only?: "new" | { readonly etag: string };
  readonly signal?: AbortSignal;
  readonly onProgress?: (bytes: number) => void;
}

/** The file is no longer the one that was read. */
export class FileChanged extends Error {
  override readonly name = "FileChanged";
}

/** No response arrived. */
class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  readonly wasSent: boolean;

  constructor(wasSent: boolean) {
    super(wasSent ? "The connection was lost: it may have been saved" : "The connection was lost");
    this.wasSent = wasSent;
  }
}

const mostAttempts = 3;

/** Returns the etag of the new content. The file changes at once, when all of it has arrived. */
export async function putFile(place: Place, path: string, content: Blob, options: PutOptions = {}): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(place, path, content, options);
    } catch (error) {
      // Browsers drop requests when a network interface appears. A file that did not arrive as a whole was not saved.
      if (!(error instanceof ConnectionLost) || error.wasSent || attempt === mostAttempts) throw error;
    }
  }
}

function send({ session, namespace, name }: Place, path: string, content: Blob, options: PutOptions): Promise<string> {
  const { only, signal, onProgress } = options;
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let wasSent = false;
    const abort = (): void => {
      request.abort();
      reject(signal?.reason);
    };
    if (signal?.aborted === true) return reject(signal.reason);
    signal?.addEventListener("abort", abort, { once: true });
    request.upload.addEventListener("progress", ({ loaded }) => onProgress?.(loaded));
    request.upload.addEventListener("load", () => {
      wasSent = true;
    });
    request.addEventListener("error", () => reject(new ConnectionLost(wasSent)));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve(request.getResponseHeader("etag") ?? "");
      else reject(failureOf(request, only));
    });
    request.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
    request.open("PUT", `/runtime/v1/files/${path.split("/").map(encodeURIComponent).join("/")}`);
    const headers = {
      accept: "application/json",
      authorization: `Bearer ${session.requestToken}`,
      "content-type": "application/octet-stream",
      "x-sandbox-id": name,
      "x-sandbox-namespace": namespace,
      "x-sandbox-port": String(port),
      ...(only === "new" && { "if-none-match": "*" }),
      ...(typeof only === "object" && { "if-match": only.etag }),
    };
    for (const [header, value] of Object.entries(headers)) request.setRequestHeader(header, value);
    request.send(content);
  });
}

function failureOf({ status, responseText }: XMLHttpRequest, only: PutOptions["only"]): Error {
  if (status === 412) {
    return only === "new"
      ? new FileExists("There is a file with this name")
      : new FileChanged("The file has changed in the sandbox since it was opened");
  }
  if (status === 401) return new Error("You are logged out");
  return new Error(messageOf(responseText) ?? `The sandbox answered ${status}`);
}

/** The router, sandboxd and the dashboard each have a form of error. */
function messageOf(text: string): string | undefined {
  try {
    const { detail, message } = JSON.parse(text) as { readonly detail?: unknown; readonly message?: unknown };
    return [detail, message].find((one) => typeof one === "string");
  } catch {
    return undefined;
  }
}
