import { ApiError, notFound, pathNotFound } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { openIdReply } from "../auth/openid.ts";
import { tokenRequestReply } from "../auth/token-request.ts";
import { type AccessObserver, admit, writeGuard } from "../authorization/access-control.ts";
import { reviewReply } from "../authorization/review.ts";
import { discoveryReply } from "../discovery/discovery.ts";
import type { Review } from "../resources/definition.ts";
import { toVersion } from "../resources/versions.ts";
import { routePart } from "../streams/pod-parts.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create } from "../verbs/create.ts";
import { parseDeleteOptions, remove } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { list } from "../verbs/list.ts";
import { parsePatch, patch } from "../verbs/patch.ts";
import { getScale, patchScale, updateScale } from "../verbs/scale.ts";
import { update } from "../verbs/update.ts";
import { parseWriteOptions, type WriteOptions } from "../verbs/write-options.ts";
import type { ApiRequest, Reply } from "./api-request.ts";
import { backupPath, backupReply } from "./backup.ts";
import { Query } from "./query.ts";
import {
  deletedReply,
  failure,
  listReply,
  objectReply,
  plainList,
  type ReplyContext,
  shownReply,
  watchReply,
  withWarnings,
} from "./replies.ts";
import { parsePath } from "./request-path.ts";
import { keyOfTarget, type ObjectTarget, resolveTarget, subjectOf, type Target } from "./target.ts";

/** Answers one request. Every failure is a `Status`; what the client cannot know about is logged. */
export async function handle(context: ApiContext, request: ApiRequest): Promise<Reply> {
  const record = context.audit?.begin(request);
  const reply = await answer(context, request, record);
  return record === undefined ? reply : record.answered(reply);
}

async function answer(context: ApiContext, request: ApiRequest, observer?: AccessObserver): Promise<Reply> {
  try {
    const identity = admit(context.access, request, observer);
    return await route(context, identity === request.identity ? request : { ...request, identity });
  } catch (error) {
    if (error instanceof ApiError) return failure(error);
    const [path] = request.url.split("?", 1);
    context.logger.error({ err: error, method: request.method, path }, "request failed");
    return failure(new ApiError("InternalError", "Internal error occurred: see the server's log", { cause: error }));
  }
}

async function route(context: ApiContext, request: ApiRequest): Promise<Reply> {
  const mark = request.url.indexOf("?");
  const path = parsePath(mark < 0 ? request.url : request.url.slice(0, mark));
  if (path === undefined) throw pathNotFound();
  if (path.kind !== "resource") {
    if (path.kind === "other" && path.path === backupPath) return backupReply(context, request);
    return openIdReply(context.access.tokens, path, request) ?? discoveryReply(context.registry, path, request);
  }
  const target = resolveTarget(path, context.registry);
  const query = new Query(mark < 0 ? "" : request.url.slice(mark + 1));
  const reply = await routeResource({ context, request, query }, target);
  const warning = target.version.deprecationWarning;
  return warning === undefined ? reply : withWarnings(reply, [warning]);
}

async function routeResource(call: ReplyContext, target: Target): Promise<Reply> {
  const { subresource, version, definition } = target;
  if (definition.review !== undefined) return routeReview(call, target, definition.review);
  if (!isObjectTarget(target)) return routeCollection(call, target);
  if (subresource === undefined || (subresource === "status" && version.hasStatus)) return routeObject(call, target);
  if (subresource === "scale" && version.scale !== undefined) return routeScale(call, target);
  if (subresource === "token" && definition.id === "serviceaccounts") return routeToken(call, target);
  return routePart(call, target);
}

function routeReview(call: ReplyContext, target: Target, review: Review): Reply {
  if (target.name !== undefined) throw pathNotFound();
  if (call.request.method !== "POST") throw methodNotAllowed();
  return reviewReply(call, target, review);
}

function routeToken(call: ReplyContext, target: ObjectTarget): Reply {
  if (call.request.method !== "POST") throw methodNotAllowed();
  return tokenRequestReply(call, target);
}

const isObjectTarget = (target: Target): target is ObjectTarget => target.name !== undefined;

async function routeCollection(call: ReplyContext, target: Target): Promise<Reply> {
  const { context, request, query } = call;
  switch (request.method) {
    case "GET":
      return query.flag("watch") ? watchReply(call, target) : listReply(call, target, list(context, target, query));
    case "POST": {
      const { object, warnings } = await create(context, target, request.body, writeOptions(call));
      return withWarnings(shownReply(201, object, { ...call, target }), warnings);
    }
    case "DELETE": {
      const options = parseDeleteOptions(query, request.body);
      const items = await deleteCollection(context, target, { query, options });
      return objectReply(
        200,
        plainList(target, { items, metadata: { resourceVersion: String(context.store.revision) } }),
      );
    }
    default:
      throw methodNotAllowed();
  }
}

async function routeObject(call: ReplyContext, target: ObjectTarget): Promise<Reply> {
  const { context, request, query } = call;
  switch (request.method) {
    case "GET":
      return shownReply(200, read(context, target), { ...call, target });
    case "PUT": {
      const { object, warnings } = await update(context, target, request.body, writeOptions(call));
      return withWarnings(shownReply(200, object, { ...call, target }), warnings);
    }
    case "PATCH": {
      const { object, warnings, created } = await patch(
        context,
        target,
        parsePatch(request, query),
        writeOptions(call),
      );
      return withWarnings(shownReply(created ? 201 : 200, object, { ...call, target }), warnings);
    }
    case "DELETE":
      if (target.subresource !== undefined) throw methodNotAllowed();
      return deletedReply(await remove(context, target, parseDeleteOptions(query, request.body)), target);
    default:
      throw methodNotAllowed();
  }
}

async function routeScale({ context, request, query }: ReplyContext, target: ObjectTarget): Promise<Reply> {
  switch (request.method) {
    case "GET":
      return objectReply(200, getScale(target, read(context, target)));
    case "PUT":
      return objectReply(200, await updateScale(context, target, request.body, parseWriteOptions(query, request)));
    case "PATCH":
      return objectReply(
        200,
        await patchScale(context, target, parsePatch(request, query), parseWriteOptions(query, request)),
      );
    default:
      throw methodNotAllowed();
  }
}

function read({ store }: ApiContext, target: ObjectTarget): ApiObject {
  const stored = store.get(target.definition.id, keyOfTarget(target));
  if (stored === undefined) throw notFound(subjectOf(target, target.name));
  return toVersion(target.definition, stored.object, target.version);
}

function writeOptions({ context, request, query }: ReplyContext): WriteOptions {
  return { ...parseWriteOptions(query, request), refuse: writeGuard(context.access, request) };
}

function methodNotAllowed(): ApiError {
  return new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource", {
    details: {},
  });
}
