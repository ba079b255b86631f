import type { Status } from "@agent-sandbox/api";
import { ApiError, badRequest, notFound, pathNotFound } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { discoveryReply } from "../discovery/discovery.ts";
import { toVersion } from "../resources/versions.ts";
import { renderList, renderObject, renderWatch, wantsTable } from "../table/render.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create, type Written } from "../verbs/create.ts";
import { type Deleted, parseDeleteOptions, remove } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { list } from "../verbs/list.ts";
import { patch } from "../verbs/patch.ts";
import { getScale, patchScale, updateScale } from "../verbs/scale.ts";
import { update } from "../verbs/update.ts";
import { watch } from "../verbs/watch.ts";
import { parseWriteOptions } from "../verbs/write-options.ts";
import type { ApiRequest, ObjectReply, Reply } from "./api-request.ts";
import { Query } from "./query.ts";
import { parsePath } from "./request-path.ts";
import { keyOfTarget, type ObjectTarget, resolveTarget, subjectOf, type Target } from "./target.ts";

interface Call {
  readonly context: ApiContext;
  readonly request: ApiRequest;
  readonly query: Query;
}

/** Answers one request. Every failure that is the client's to know is a `Status`; anything else is thrown. */
export async function handle(context: ApiContext, request: ApiRequest): Promise<Reply> {
  try {
    return await route(context, request);
  } catch (error) {
    if (error instanceof ApiError) return failure(error);
    throw error;
  }
}

export function failure(error: ApiError): ObjectReply {
  const retryAfter = error.details?.retryAfterSeconds;
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return { kind: "object", status: error.code, headers, body: error.toStatus() };
}

async function route(context: ApiContext, request: ApiRequest): Promise<Reply> {
  const mark = request.url.indexOf("?");
  const path = parsePath(mark < 0 ? request.url : request.url.slice(0, mark));
  if (path === undefined) throw pathNotFound();
  if (path.kind !== "resource") return discoveryReply(context.registry, path, request);
  const target = resolveTarget(path, context.registry);
  const call = { context, request, query: new Query(mark < 0 ? "" : request.url.slice(mark + 1)) };
  const reply = await routeResource(call, target);
  const warning = target.version.deprecationWarning;
  return warning === undefined ? reply : withWarnings(reply, [warning]);
}

async function routeResource(call: Call, target: Target): Promise<Reply> {
  if (!isObjectTarget(target)) return routeCollection(call, target);
  const { subresource, version, definition } = target;
  if (subresource === undefined || (subresource === "status" && version.hasStatus)) return routeObject(call, target);
  if (subresource === "scale" && version.scale !== undefined) return routeScale(call, target);
  if (subresource === "exec" && definition.id === "pods") throw badRequest("Upgrade request required");
  throw pathNotFound();
}

const isObjectTarget = (target: Target): target is ObjectTarget => target.name !== undefined;

async function routeCollection({ context, request, query }: Call, target: Target): Promise<Reply> {
  switch (request.method) {
    case "GET":
      return query.flag("watch")
        ? watchReply({ context, request, query }, target)
        : listReply({ context, request, query }, target);
    case "POST":
      return written(
        201,
        await create(context, target, request.body, parseWriteOptions(query)),
        call(context, request, target),
      );
    case "DELETE": {
      const items = await deleteCollection(context, target, {
        query,
        options: parseDeleteOptions(query, request.body),
      });
      return object(200, listObject(target, items, { resourceVersion: String(context.store.revision) }));
    }
    default:
      throw methodNotAllowed();
  }
}

interface Rendering {
  readonly context: ApiContext;
  readonly request: ApiRequest;
  readonly target: Target;
}

const call = (context: ApiContext, request: ApiRequest, target: Target): Rendering => ({ context, request, target });

function listReply({ context, request, query }: Call, target: Target): Reply {
  const { items, metadata } = list(context, target, query);
  if (wantsTable(request))
    return object(200, renderList(target, { items, metadata }, { query, nowMs: context.clock.now() }));
  return object(200, listObject(target, items, metadata));
}

function listObject({ definition, version }: Target, items: readonly ApiObject[], metadata: object): object {
  return { apiVersion: version.apiVersion, kind: `${definition.kind}List`, metadata, items };
}

function watchReply({ context, request, query }: Call, target: Target): Reply {
  const events = watch(context, target, query, request.signal);
  const shown = wantsTable(request) ? renderWatch(target, events, { query, nowMs: () => context.clock.now() }) : events;
  return { kind: "watch", status: 200, headers: {}, events: shown };
}

async function routeObject({ context, request, query }: Call, target: ObjectTarget): Promise<Reply> {
  const rendering = call(context, request, target);
  switch (request.method) {
    case "GET":
      return rendered(200, read(context, target), rendering);
    case "PUT":
      return written(200, await update(context, target, request.body, parseWriteOptions(query)), rendering);
    case "PATCH": {
      const contentType = request.headers["content-type"] ?? "";
      return written(
        200,
        await patch(context, target, { contentType, body: request.body }, parseWriteOptions(query)),
        rendering,
      );
    }
    case "DELETE":
      if (target.subresource !== undefined) throw methodNotAllowed();
      return deleted(await remove(context, target, parseDeleteOptions(query, request.body)), target);
    default:
      throw methodNotAllowed();
  }
}

function read({ store }: ApiContext, target: ObjectTarget): ApiObject {
  const stored = store.get(target.definition.id, keyOfTarget(target));
  if (stored === undefined) throw notFound(subjectOf(target, target.name));
  return toVersion(target.definition, stored.object, target.version);
}

async function routeScale({ context, request, query }: Call, target: ObjectTarget): Promise<Reply> {
  switch (request.method) {
    case "GET":
      return object(200, getScale(target, read(context, target)));
    case "PUT":
      return object(200, await updateScale(context, target, request.body, parseWriteOptions(query)));
    case "PATCH": {
      const contentType = request.headers["content-type"] ?? "";
      return object(
        200,
        await patchScale(context, target, { contentType, body: request.body }, parseWriteOptions(query)),
      );
    }
    default:
      throw methodNotAllowed();
  }
}

function methodNotAllowed(): ApiError {
  return new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });
}

function deleted({ object: last, gone }: Deleted, { definition, version }: ObjectTarget): ObjectReply {
  if (!gone || definition.returnsDeleted) return object(200, toVersion(definition, last, version));
  const details = {
    name: last.metadata.name as string,
    ...(version.group === "" ? {} : { group: version.group }),
    kind: definition.plural,
    uid: last.metadata.uid as string,
  };
  const status: Status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Success", details };
  return object(200, status);
}

function written(status: number, { object: body, warnings }: Written, rendering: Rendering): ObjectReply {
  return withWarnings(rendered(status, body, rendering), warnings);
}

function rendered(status: number, body: ApiObject, { context, request, target }: Rendering): ObjectReply {
  if (!wantsTable(request)) return object(status, body);
  const query = new Query(request.url.slice(request.url.indexOf("?") + 1));
  return object(status, renderObject(target, body, { query, nowMs: context.clock.now() }));
}

function object(status: number, body: unknown): ObjectReply {
  return { kind: "object", status, headers: {}, body };
}

/** RFC 7234 warnings, which kubectl prints and client-go hands to its users. */
function withWarnings<R extends Reply>(reply: R, warnings: readonly string[]): R {
  if (warnings.length === 0) return reply;
  const quoted = warnings.map(
    (warning) => `299 - "${warning.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?")}"`,
  );
  const earlier = reply.headers["warning"];
  return {
    ...reply,
    headers: { ...reply.headers, warning: [...(earlier === undefined ? [] : [earlier]), ...quoted].join(", ") },
  };
}
