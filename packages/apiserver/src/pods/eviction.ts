import type { Status } from "@agent-sandbox/api";
import { badRequest } from "../api-error.ts";
import { isJsonObject, stringAt, valueAt } from "../api-object.ts";
import type { ObjectReply } from "../request/api-request.ts";
import { objectReply, type ReplyContext } from "../request/replies.ts";
import type { ObjectTarget } from "../request/target.ts";
import { remove } from "../verbs/delete.ts";
import { parseDeleteOptions } from "../verbs/delete-options.ts";

const versions: readonly unknown[] = ["policy/v1", "policy/v1beta1"];

/** Answers `pods/{name}/eviction`, as `kubectl drain` uses it. There are no disruption budgets, so it is a plain delete. */
export async function evict({ context, query, request }: ReplyContext, target: ObjectTarget): Promise<ObjectReply> {
  const { body } = request;
  if (!isJsonObject(body) || !versions.includes(body["apiVersion"]) || body["kind"] !== "Eviction")
    throw badRequest('the body of the request must be an Eviction of "policy/v1"');
  const [name, namespace] = [stringAt(body, "metadata", "name"), stringAt(body, "metadata", "namespace")];
  if (name !== undefined && name !== target.name)
    throw badRequest("name in URL does not match name in Eviction object");
  if (namespace !== undefined && namespace !== target.namespace)
    throw badRequest("namespace in URL does not match namespace in Eviction object");
  await remove(
    context,
    { ...target, subresource: undefined },
    parseDeleteOptions(query, valueAt(body, "deleteOptions")),
  );
  const done: Status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Success", code: 201 };
  return objectReply(201, done);
}
