import type { Status } from "@agent-sandbox/api";
import { isServerReason, KubeError, type KubeReason, reasonOfCode } from "../errors.ts";
import type { TransportResponse } from "../transport.ts";
import { readRetryAfter } from "./retry-after.ts";

/** Reasons about an object. An HTML page of a proxy must not be mistaken for one of them. */
const aboutObjects: ReadonlySet<KubeReason> = new Set(["NotFound", "Conflict", "Gone", "Invalid"]);

/** Converts an unsuccessful response to an error. `action` completes "Cannot ...". */
export function statusError(action: string, response: TransportResponse): KubeError {
  const { body, headers } = response;
  const status = isStatus(body) ? body : undefined;
  const code = status?.code ?? response.status;
  const reason = status ? reasonOf(status, code) : reasonWithoutStatus(response);
  const details = status?.details;
  const message = `Cannot ${action}: ${status?.message ?? describe(response)}`;
  const retryAfterMs =
    readRetryAfter(headers["retry-after"]) ??
    (details?.retryAfterSeconds === undefined ? undefined : details.retryAfterSeconds * 1000);
  return new KubeError(reason, message, { code, retryAfterMs, ...(details ? { details } : {}) });
}

export function isStatus(body: unknown): body is Status {
  return typeof body === "object" && body !== null && (body as { kind?: unknown }).kind === "Status";
}

function reasonOf(status: Status, code: number): KubeReason {
  return isServerReason(status.reason) ? status.reason : (reasonOfCode(code) ?? "Unknown");
}

function reasonWithoutStatus({ status, headers }: TransportResponse): KubeReason {
  const reason = reasonOfCode(status) ?? (status >= 500 ? "InternalError" : "InvalidResponse");
  const isPage = headers["content-type"]?.includes("html") === true;
  return isPage && aboutObjects.has(reason) ? "InvalidResponse" : reason;
}

function describe({ status, headers, body }: TransportResponse): string {
  const type = headers["content-type"] ?? "no content type";
  const shown = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  const excerpt = shown.replaceAll(/\s+/g, " ").trim().slice(0, 200);
  return `the server or a proxy returned ${status} (${type})${excerpt === "" ? "" : `: ${excerpt}`}`;
}
