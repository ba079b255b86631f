import { type Json, prune, validate } from "@agent-sandbox/api/schema";
import { badRequest, invalid } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { timestamp } from "../clock.ts";
import type { ObjectReply } from "../request/api-request.ts";
import { objectReply, type ReplyContext } from "../request/replies.ts";
import { subjectOf, type Target } from "../request/target.ts";
import type { Review } from "../resources/definition.ts";
import { decodeObject } from "../verbs/decode.ts";

/** Answers the creation of a review with the same object and its status. It is never stored. */
export function reviewReply({ context, request }: ReplyContext, target: Target, review: Review): ObjectReply {
  const object = checkReview(target, request.body);
  const status = review({ context, identity: request.identity, object });
  // Kubernetes sets a creation time only for this kind of review.
  const dated = target.definition.id === "selfsubjectreviews";
  const metadata = dated ? { ...object.metadata, creationTimestamp: timestamp(context.clock.now()) } : object.metadata;
  return objectReply(201, { ...object, metadata, status });
}

function checkReview(target: Target, body: unknown): ApiObject {
  const { definition, version, namespace } = target;
  if (definition.namespaced && namespace === undefined) throw badRequest("the path must name a namespace to create in");
  const object = prune(version.schema, decodeObject(body, target) as unknown as Json);
  const problems = validate(version.schema, object);
  if (problems.length > 0) throw invalid(definition.kind, subjectOf(target, ""), problems);
  return object as unknown as ApiObject;
}

export function specOf(object: ApiObject): JsonObject {
  return isJsonObject(object["spec"]) ? object["spec"] : {};
}
