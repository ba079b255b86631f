import type { UsageFigures } from "@agent-sandbox/kube";
import { ApiError, methodNotAllowed, notFound } from "../api-error.ts";
import { type ApiObject, storeKey } from "../api-object.ts";
import type { Reply } from "../request/api-request.ts";
import { listReply, type NegotiatedContext, shownReply } from "../request/replies.ts";
import { subjectOf, type Target } from "../request/target.ts";
import type { Measured } from "../resources/definition.ts";
import type { Stored } from "../store/store.ts";
import { fromNode, notOffered } from "../streams/node-error.ts";
import { parseSelection } from "../verbs/selection.ts";

/** Answers get and list for measured kinds. Selectors apply to the measured object's labels and name, as in metrics-server. */
export async function usageReply(call: NegotiatedContext, target: Target, measured: Measured): Promise<Reply> {
  const { context, request, query } = call;
  const { definition, namespace, name, subresource } = target;
  if (subresource !== undefined) throw notFound(subjectOf(target, name ?? ""));
  if (request.method !== "GET" || query.flag("watch")) throw methodNotAllowed();
  const { store, nodeName } = context;
  // Other Node objects describe other machines.
  const isMeasured = (stored: Stored | undefined): stored is Stored =>
    stored !== undefined && (measured.of !== "nodes" || stored.key === nodeName);
  if (name !== undefined) {
    const stored = store.get(measured.of, storeKey(namespace, name));
    const found = isMeasured(stored) ? measured.describe(stored.object, await figures(call)) : undefined;
    if (found === undefined) throw notFound(subjectOf(target, storeKey(namespace, name)));
    return shownReply(200, found, { ...call, target });
  }
  const selection = parseSelection(query, definition);
  const prefix = namespace === undefined ? "" : `${namespace}/`;
  const taken = await figures(call);
  const items: ApiObject[] = [];
  for (const stored of store.list(measured.of, prefix)) {
    const item = isMeasured(stored) && selection.matches(stored) ? measured.describe(stored.object, taken) : undefined;
    if (item !== undefined) items.push(item);
  }
  return listReply(call, target, { items, metadata: {} });
}

async function figures({ context: { podStreams } }: NegotiatedContext): Promise<UsageFigures> {
  if (podStreams?.usage === undefined) throw notOffered("metrics");
  try {
    return await podStreams.usage();
  } catch (error) {
    throw error instanceof ApiError ? error : fromNode(error);
  }
}
