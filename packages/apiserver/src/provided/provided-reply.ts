import { badRequest, forbidden } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Reply } from "../request/api-request.ts";
import { negotiate } from "../request/negotiation.ts";
import { type ReplyContext, shownReply } from "../request/replies.ts";
import { type ObjectTarget, subjectOf } from "../request/target.ts";

/** Answers a request for a provided object. It can only be read; upgrade requests for port-forward do not come here. */
export function providedReply(call: ReplyContext, target: ObjectTarget, object: ApiObject): Reply {
  const { subresource, name } = target;
  if (call.request.method === "GET" && (subresource === undefined || subresource === "status")) {
    return shownReply(200, object, { ...call, representation: negotiate(call.request.headers["accept"]), target });
  }
  if (subresource === "portforward") throw badRequest("Upgrade request required");
  throw forbidden(subjectOf(target, name), readOnly);
}

export const readOnly = "the box provides this object: it can be read, and a port of its Pod can be forwarded";
