import type { Status } from "@agent-sandbox/api";
import type { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { toVersion } from "../resources/versions.ts";
import { renderList, renderObject, renderWatch, wantsTable } from "../table/render.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { Deleted } from "../verbs/delete.ts";
import { watch } from "../verbs/watch.ts";
import type { ApiRequest, ObjectReply, Reply, WatchReply } from "./api-request.ts";
import type { Query } from "./query.ts";
import type { ObjectTarget, Target } from "./target.ts";

/** One request with what it is answered from. */
export interface ReplyContext {
  readonly context: ApiContext;
  readonly request: ApiRequest;
  readonly query: Query;
}

export interface Listed {
  readonly items: readonly ApiObject[];
  readonly metadata: object;
}

export function objectReply(status: number, body: unknown): ObjectReply {
  return { kind: "object", status, headers: {}, body };
}

export function failure(error: ApiError): ObjectReply {
  const retryAfter = error.details?.retryAfterSeconds;
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return { kind: "object", status: error.code, headers, body: error.toStatus() };
}

/** An object, or the table of it that kubectl asks for. */
export function shownReply(
  status: number,
  object: ApiObject,
  { context, request, query, target }: ReplyContext & { target: Target },
): ObjectReply {
  if (!wantsTable(request)) return objectReply(status, object);
  return objectReply(status, renderObject(target, object, { query, nowMs: context.clock.now() }));
}

export function listReply({ context, request, query }: ReplyContext, target: Target, listed: Listed): ObjectReply {
  if (!wantsTable(request)) return objectReply(200, plainList(target, listed));
  return objectReply(200, renderList(target, listed, { query, nowMs: context.clock.now() }));
}

export function plainList({ definition, version }: Target, { items, metadata }: Listed): object {
  return { apiVersion: version.apiVersion, kind: `${definition.kind}List`, metadata, items };
}

export function watchReply({ context, request, query }: ReplyContext, target: Target): WatchReply {
  const events = watch(context, target, query, request.signal);
  const asTable = wantsTable(request);
  const shown = asTable ? renderWatch(target, events, { query, nowMs: () => context.clock.now() }) : events;
  return { kind: "watch", status: 200, headers: {}, events: shown };
}

/** What is still there is shown; of what is gone most kinds only say that it is. */
export function deletedReply({ object, gone }: Deleted, { definition, version }: ObjectTarget): ObjectReply {
  if (!gone || definition.returnsDeleted) return objectReply(200, toVersion(definition, object, version));
  const { name = "", uid = "" } = object.metadata;
  const group = version.group === "" ? {} : { group: version.group };
  const details = { name, ...group, kind: definition.plural, uid };
  const status: Status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Success", details };
  return objectReply(200, status);
}

/** RFC 7234 warnings, which kubectl prints and client-go hands to its users. */
export function withWarnings<R extends Reply>(reply: R, warnings: readonly string[]): R {
  if (warnings.length === 0) return reply;
  const earlier = reply.headers["warning"];
  const quoted = warnings.map((warning) => `299 - "${headerText(warning)}"`);
  const warning = [...(earlier === undefined ? [] : [earlier]), ...quoted].join(", ");
  return { ...reply, headers: { ...reply.headers, warning } };
}

function headerText(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?");
}
