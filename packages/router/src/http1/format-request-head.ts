import type { UpstreamRequest } from "./upstream-connection.ts";

/** Servers expect a Content-Length for these methods, even if it is 0. */
const hasLengthAlways: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** The head of a request to a sandbox. The router sets the headers about the connection and the length itself. */
export function formatRequestHead(request: UpstreamRequest, host: string): string {
  const { method, path, headers, upgrade } = request;
  const connection = upgrade === undefined ? "keep-alive" : `upgrade\r\nupgrade: ${upgrade}`;
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}${formatLength(request)}\r\n`;
}

function formatLength({ method, body, isEmpty = false }: UpstreamRequest): string {
  if (body === undefined) return isEmpty || hasLengthAlways.has(method) ? "content-length: 0\r\n" : "";
  return body.length === undefined ? "transfer-encoding: chunked\r\n" : `content-length: ${body.length}\r\n`;
}
