import { expositionType } from "@agent-sandbox/api";
import { methodNotAllowed, pathNotFound } from "../api-error.ts";
import type { ApiRequest, TextReply } from "../request/api-request.ts";
import type { ApiContext } from "../verbs/context.ts";

/** Returns the metrics of a part of the box in the Prometheus text format. */
export type PartMetrics = Readonly<Record<string, () => Promise<string>>>;

/** Not a path of Kubernetes: there, each part serves its metrics on an address of its own. */
const prefix = "/agent-sandbox/metrics/";

export const isPartMetrics = (path: string): boolean => path.startsWith(prefix);

export async function partMetricsReply(
  { partMetrics }: Pick<ApiContext, "partMetrics">,
  { method }: Pick<ApiRequest, "method">,
  path: string,
): Promise<TextReply> {
  const part = path.slice(prefix.length);
  const write = Object.hasOwn(partMetrics, part) ? partMetrics[part] : undefined;
  if (write === undefined) throw pathNotFound();
  if (method !== "GET") throw methodNotAllowed();
  return { kind: "text", status: 200, headers: { "content-type": expositionType }, text: await write() };
}
