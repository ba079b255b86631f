import { ApiError, badRequest, methodNotAllowed, notFound, pathNotFound } from "../api-error.ts";
import { type ApiObject, isJsonObject } from "../api-object.ts";
import { openIdReply } from "../auth/openid.ts";
import { tokenRequestReply } from "../auth/token-request.ts";
import { type AccessObserver, admit, writeGuard } from "../authorization/access-control.ts";
import { reviewReply } from "../authorization/review.ts";
import { withConversions } from "../conversion/conversion-scope.ts";
import { listConverted, readyToShow } from "../conversion/converted-reads.ts";
import { discoveryReply } from "../discovery/discovery.ts";
import { metricsPath, metricsReply } from "../metrics/metrics-reply.ts";
import { isPartMetrics, partMetricsReply } from "../metrics/part-metrics.ts";
import type { RequestMeasure } from "../metrics/request-metrics.ts";
import { routeSubresource } from "../pods/subresources.ts";
import type { ProvidedName } from "../provided/provided-objects.ts";
import { providedReply } from "../provided/provided-reply.ts";
import type { Review } from "../resources/definition.ts";
import { isOutgrown, toVersion } from "../resources/versions.ts";
import type { Stored } from "../store/store.ts";
import { isSnapshotArchive, snapshotArchiveReply } from "../streams/snapshot-archive.ts";
import { scaleColumns } from "../table/scale-columns.ts";
import { usageReply } from "../usage/usage-reply.ts";
import { applyScale } from "../verbs/apply-scale.ts";
import type { ApiContext } from "../verbs/context.ts";
import { create } from "../verbs/create.ts";
import { remove } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { parseDeleteOptions } from "../verbs/delete-options.ts";
import { limitsFor } from "../verbs/namespace-limits.ts";
import { applyType, parsePatch, patch } from "../verbs/patch.ts";
import { getScale, patchScale, updateScale } from "../verbs/scale.ts";
import { update } from "../verbs/update.ts";
import { parseWriteOptions, type WriteOptions } from "../verbs/write-options.ts";
import type { ApiRequest, Reply } from "./api-request.ts";
import { backupPath, backupReply } from "./backup.ts";
import { negotiate } from "./negotiation.ts";
import { Query } from "./query.ts";
import {
  deletedReply,
  failure,
  listReply,
  type NegotiatedContext,
  objectReply,
  type ReplyContext,
  shownReply,
  watchReply,
  withWarnings,
} from "./replies.ts";
import { parsePath } from "./request-path.ts";
import { savedReply } from "./saved-replies.ts";
import { keyOfTarget, type ObjectTarget, resolveTarget, subjectOf, type Target } from "./target.ts";

/** Answers one request. Every failure is a `Status`; internal errors are also logged. */
export async function handle(context: ApiContext, request: ApiRequest): Promise<Reply> {
  const measure = context.metrics.begin(request);
  const record = context.audit?.begin(request);
  const reply = await answer(context, request, { measure, record });
  measure.answered(reply);
  return record === undefined ? reply : record.answered(reply);
}

/** Observers of one request. */
interface Observers {
  readonly measure: RequestMeasure;
  readonly record: AccessObserver | undefined;
}

async function answer(context: ApiContext, request: ApiRequest, { measure, record }: Observers): Promise<Reply> {
  try {
    const identity = admit(context.access, request, record);
    return await route(context, identity === request.identity ? request : { ...request, identity }, measure);
  } catch (error) {
    if (error instanceof ApiError) return failure(error);
    const [path] = request.url.split("?", 1);
    context.logger.error({ err: error, method: request.method, path }, "request failed");
    return failure(new ApiError("InternalError", "Internal error occurred: see the server's log", { cause: error }));
  }
}

async function route(context: ApiContext, request: ApiRequest, measure: RequestMeasure): Promise<Reply> {
  const mark = request.url.indexOf("?");
  const path = parsePath(mark < 0 ? request.url : request.url.slice(0, mark));
  if (path === undefined) throw pathNotFound();
  if (path.kind !== "resource") {
    if (path.kind === "other" && path.path === backupPath) return backupReply(context, request);
    if (path.kind === "other" && path.path === metricsPath) return metricsReply(context, request);
    if (path.kind === "other" && isPartMetrics(path.path)) return partMetricsReply(context, request, path.path);
    return openIdReply(context.access.tokens, path, request) ?? discoveryReply(context.registry, path, request);
  }
  const target = resolveTarget(path, context.registry);
  measure.found(target);
  const query = new Query(mark < 0 ? "" : request.url.slice(mark + 1));
  const call = { context, request, query };
  const warning = target.version.deprecationWarning;
  const { bodyProblem } = request;
  const answered = bodyProblem === undefined ? routeConverted(call, target) : Promise.reject(bodyProblem);
  return warning === undefined ? answered : warned(answered, warning, { request, target });
}

interface Asked {
  readonly request: ApiRequest;
  readonly target: Target;
}

/** Adds the deprecation warning of a version to the response, before other warnings, also to most errors. */
async function warned(answer: Promise<Reply>, warning: string, asked: Asked): Promise<Reply> {
  const reply = await answer.catch((error: unknown) => {
    // A version that is not served, or a request in an unsupported format, gets no deprecation warning.
    if (!(error instanceof ApiError) || isNotServed(error) || isNotSpoken(error, asked)) throw error;
    return failure(error);
  });
  return withWarnings(reply, [warning], "first");
}

const isNotServed = ({ reason, details }: ApiError): boolean =>
  reason === "MethodNotAllowed" || (reason === "NotFound" && details?.kind === undefined);

/** For built-in kinds, Kubernetes checks the format of a patch before it looks up the version. */
const isNotSpoken = ({ reason }: ApiError, { request, target }: Asked): boolean =>
  target.definition.typed && reason === "UnsupportedMediaType" && request.method === "PATCH";

/** Routes a request whose objects may have to be converted by a webhook first. */
async function routeConverted(call: ReplyContext, target: Target): Promise<Reply> {
  const { converter } = target.definition;
  if (converter === undefined) return routeResource(call, target);
  return withConversions(target, converter, (bound, name) => routeResource(named(call, name), bound));
}

/** The same request, with the name that was generated for its object in an earlier attempt. */
function named(call: ReplyContext, name: string | undefined): ReplyContext {
  const { request } = call;
  const { body } = request;
  if (request.method !== "POST" || name === undefined || !isJsonObject(body)) return call;
  const metadata = { ...(isJsonObject(body["metadata"]) ? body["metadata"] : {}), name };
  return { ...call, request: { ...request, body: { ...body, metadata } } };
}

async function routeResource(call: ReplyContext, target: Target): Promise<Reply> {
  const { subresource, version, definition } = target;
  if (definition.review !== undefined) return routeReview(call, target, definition.review);
  if (definition.measured !== undefined) return usageReply(negotiated(call), target, definition.measured);
  if (!isObjectTarget(target)) return routeCollection(negotiated(call), target);
  const provided = call.context.access.provided?.find(providedName(target));
  if (provided !== undefined) return providedReply(call, target, provided);
  if (subresource === undefined || (subresource === "status" && version.hasStatus)) {
    return routeObject(negotiated(call), target);
  }
  const part = definition.strategy.parts?.get(subresource);
  if (part !== undefined) {
    if (part.onlyReplaced === true && call.request.method !== "PUT") throw methodNotAllowed();
    return routeObject(negotiated(call), target);
  }
  if (subresource === "scale" && version.scale !== undefined) return routeScale(negotiated(call), target);
  if (isSnapshotArchive(target)) return snapshotArchiveReply(call, target);
  if (!definition.typed) throw notFound(subjectOf(target, target.name));
  if (subresource === "token" && definition.id === "serviceaccounts") return routeToken(call, target);
  return routeSubresource(call, target);
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

const listMetadata = ({ store }: ApiContext): object => ({ resourceVersion: String(store.revision) });

const providedName = ({ version, definition, namespace, name }: Target): ProvidedName => ({
  group: version.group,
  resource: definition.plural,
  namespace,
  name,
});

const isObjectTarget = (target: Target): target is ObjectTarget => target.name !== undefined;

const negotiated = (call: ReplyContext): NegotiatedContext => ({
  ...call,
  representation: negotiate(call.request.headers["accept"]),
});

async function routeCollection(call: NegotiatedContext, target: Target): Promise<Reply> {
  const { context, request, query } = call;
  switch (request.method) {
    case "GET":
      if (query.flag("watch")) return watchReply(call, target);
      {
        const provided = context.access.provided?.select(providedName(target), query);
        if (provided !== undefined)
          return listReply(call, target, { items: [provided], metadata: listMetadata(context) });
      }
      return listReply(call, target, await listConverted(context, target, query));
    case "POST": {
      const { object, warnings } = await create(context, target, request.body, writeOptions(call));
      return withWarnings(shownReply(201, object, { ...call, target }), warnings);
    }
    case "DELETE": {
      if (!target.definition.deletesCollections) throw methodNotAllowed();
      const options = parseDeleteOptions(query, request.body);
      if (target.definition.converter !== undefined) await listConverted(context, target, query);
      const items = await deleteCollection(context, target, { query, options });
      return listReply(call, target, { items, metadata: listMetadata(context) });
    }
    default:
      throw target.definition.typed ? methodNotAllowed() : badRequest("name must be provided");
  }
}

async function routeObject(call: NegotiatedContext, target: ObjectTarget): Promise<Reply> {
  const { context, request, query } = call;
  switch (request.method) {
    case "GET":
      if (call.representation.as === "Object") return plainReply(stored(context, target), target);
      return shownReply(200, read(context, target), { ...call, target });
    case "PUT": {
      const { object, warnings, created } = await update(context, target, request.body, writeOptions(call));
      return withWarnings(shownReply(created ? 201 : 200, object, { ...call, target }), warnings);
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
    case "DELETE": {
      if (target.subresource !== undefined) throw methodNotAllowed();
      const deleted = await remove(context, target, parseDeleteOptions(query, request.body));
      if (!deleted.gone) await readyToShow(target, [deleted.object]);
      return deletedReply(deleted, { ...call, target });
    }
    default:
      throw methodNotAllowed();
  }
}

async function routeScale(call: NegotiatedContext, target: ObjectTarget): Promise<Reply> {
  const { context, request, query } = call;
  switch (request.method) {
    case "GET": {
      const shown = { ...target, version: { ...target.version, columns: scaleColumns } };
      return shownReply(200, getScale(target, read(context, target)), { ...call, target: shown });
    }
    case "PUT":
      return objectReply(200, await updateScale(context, target, request.body, parseWriteOptions(query, request)));
    case "PATCH": {
      const wanted = parsePatch(request, query);
      const write = wanted.type === applyType ? applyScale : patchScale;
      return objectReply(200, await write(context, target, wanted, parseWriteOptions(query, request)));
    }
    default:
      throw methodNotAllowed();
  }
}

function plainReply(found: Stored, target: ObjectTarget): Reply {
  const { definition, version } = target;
  if (!isOutgrown(definition, found.revision)) return savedReply(found, target);
  return objectReply(200, toVersion(definition, found.object, version));
}

function stored({ store }: ApiContext, target: ObjectTarget): Stored {
  const found = store.get(target.definition.id, keyOfTarget(target));
  if (found === undefined) throw notFound(subjectOf(target, target.name));
  return found;
}

function read(context: ApiContext, target: ObjectTarget): ApiObject {
  return toVersion(target.definition, stored(context, target).object, target.version);
}

function writeOptions({ context, request, query }: ReplyContext): WriteOptions {
  const { duplicateFields, identity, method } = request;
  return {
    ...parseWriteOptions(query, request),
    refuse: writeGuard(context.access, request, context),
    limits: limitsFor(context.limits, identity, { creates: method === "POST" }),
    duplicateFields,
  };
}
