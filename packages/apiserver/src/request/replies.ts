import type { Status } from "@agent-sandbox/api";
import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { watchConverted } from "../conversion/converted-reads.ts";
import { isOutgrown, toVersion } from "../resources/versions.ts";
import type { Stored } from "../store/store.ts";
import { renderList, renderObject, renderWatch } from "../table/render.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { Deleted } from "../verbs/delete.ts";
import { Pacer } from "../verbs/pacer.ts";
import type { ApiRequest, ObjectReply, Reply, ServedEvent, WatchReply } from "./api-request.ts";
import type { Representation } from "./negotiation.ts";
import { partialEvents, partialList, partialObject } from "./partial-metadata.ts";
import type { Query } from "./query.ts";
import { savedListText } from "./saved-replies.ts";
import type { Target } from "./target.ts";

/** A request and the context to answer it. */
export interface ReplyContext {
  readonly context: ApiContext;
  readonly request: ApiRequest;
  readonly query: Query;
}

/** A request with its negotiated representation. */
export interface NegotiatedContext extends ReplyContext {
  readonly representation: Representation;
}

export interface Listed {
  readonly items: readonly ApiObject[];
  readonly metadata: object;
  /** The stored form of the items, unless they were converted by a webhook. */
  readonly stored?: readonly Stored[];
}

export function objectReply(status: number, body: unknown): ObjectReply {
  return { kind: "object", status, headers: {}, body };
}

export function failure(error: ApiError): ObjectReply {
  const retryAfter = error.details?.retryAfterSeconds;
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return { kind: "object", status: error.code, headers, body: error.toStatus() };
}

/** A reply with an object in the negotiated representation. */
export function shownReply(
  status: number,
  object: ApiObject,
  call: NegotiatedContext & { target: Target },
): ObjectReply {
  const { context, query, representation, target } = call;
  switch (representation.as) {
    case "Object":
      return objectReply(status, object);
    case "Table":
      return objectReply(status, renderObject(target, object, { query, representation, nowMs: context.clock.now() }));
    case "PartialObjectMetadata":
      return objectReply(status, partialObject(object, representation.apiVersion));
    default:
      throw misfit(representation.as, `the requested object is not a list (${target.definition.kind})`);
  }
}

export async function listReply(call: NegotiatedContext, target: Target, listed: Listed): Promise<ObjectReply> {
  const { context, query, representation } = call;
  switch (representation.as) {
    case "Object":
      return plainList(target, listed);
    case "Table": {
      const options = { query, representation, nowMs: context.clock.now() };
      const parts = await eachPart(target, listed, (part) => renderList(target, part, options));
      return objectReply(200, { ...parts[0], rows: parts.flatMap(({ rows }) => rows) });
    }
    case "PartialObjectMetadataList": {
      const parts = await eachPart(target, listed, (part) => partialList(part, representation.apiVersion));
      return objectReply(200, { ...parts[0], items: parts.flatMap(({ items }) => items) });
    }
    default:
      throw misfit(representation.as, `the requested object is a list (${target.definition.kind}List)`);
  }
}

/** Maps a list in parts, yielding to other requests in between, because the stored JSON of the items is parsed here. */
async function eachPart<T>(target: Target, listed: Listed, show: (part: Listed) => T): Promise<T[]> {
  const { stored, metadata } = listed;
  if (stored === undefined || stored.length === 0) return [show(listed)];
  const { definition, version } = target;
  const pacer = new Pacer();
  const shown: T[] = [];
  let items: ApiObject[] = [];
  for (const saved of stored) {
    const pause = pacer.next(saved.json.length);
    if (pause !== undefined) {
      shown.push(show({ items, metadata }));
      items = [];
      await pause;
    }
    items.push(toVersion(definition, saved.object, version));
  }
  return [...shown, show({ items, metadata })];
}

function misfit(asked: string, why: string): ApiError {
  return new ApiError("NotAcceptable", `you requested ${asked}, but ${why}`);
}

/** The last page of a custom kind has an empty `continue`; for built-in kinds the field is missing. */
function plainList(target: Target, listed: Listed): ObjectReply {
  const { definition, version } = target;
  const { metadata, stored } = listed;
  const shown = definition.typed ? metadata : { continue: "", ...metadata };
  const list = { apiVersion: version.apiVersion, kind: `${definition.kind}List`, metadata: shown };
  if (stored === undefined || stored.some(({ revision }) => isOutgrown(definition, revision)))
    return objectReply(200, { ...list, items: listed.items });
  return {
    kind: "object",
    status: 200,
    headers: {},
    get body() {
      return { ...list, items: listed.items };
    },
    length: stored.reduce((sum, { json }) => sum + json.length, 0),
    get json() {
      return savedListText(list, stored, target) ?? JSON.stringify({ ...list, items: listed.items });
    },
  };
}

export function watchReply(call: NegotiatedContext, target: Target): WatchReply {
  const { context, request, query, representation } = call;
  if (representation.as === "PartialObjectMetadataList") {
    throw misfit(representation.as, `the objects of a watch are not lists (${target.definition.kind})`);
  }
  const events = watchConverted(context, target, query, request.signal);
  return { kind: "watch", status: 200, headers: {}, events: shownEvents(events, call, target) };
}

function shownEvents(
  events: AsyncIterable<readonly ServedEvent[]>,
  { context, query, representation }: NegotiatedContext,
  target: Target,
): AsyncIterable<readonly ServedEvent[]> {
  if (representation.as === "Object") return events;
  if (representation.as !== "Table") return partialEvents(events, representation.apiVersion);
  return renderWatch(target, events, { query, representation, nowMs: () => context.clock.now() });
}

/** A deleted object that still exists, for example with finalizers, is returned. Otherwise most kinds return a Status. */
export function deletedReply({ object, gone }: Deleted, call: NegotiatedContext & { target: Target }): ObjectReply {
  const { definition, version } = call.target;
  if (!gone || definition.returnsDeleted) return shownReply(200, toVersion(definition, object, version), call);
  const { name = "", uid = "" } = object.metadata;
  const group = version.group === "" ? {} : { group: version.group };
  const details = { name, ...group, kind: definition.plural, uid };
  const status: Status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Success", details };
  return objectReply(200, status);
}

/** Adds warning headers (RFC 7234), which kubectl prints and client-go reports to its users. */
export function withWarnings<R extends Reply>(
  reply: R,
  warnings: readonly string[],
  place: "first" | "last" = "last",
): R {
  if (warnings.length === 0) return reply;
  const earlier = reply.headers["warning"];
  const quoted = warnings.map((warning) => `299 - "${headerText(warning)}"`);
  const others = earlier === undefined ? [] : [earlier];
  const warning = (place === "first" ? [...quoted, ...others] : [...others, ...quoted]).join(", ");
  return { ...reply, headers: { ...reply.headers, warning } };
}

function headerText(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?");
}
