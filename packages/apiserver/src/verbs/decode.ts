import { badRequest } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import type { Target } from "../request/target.ts";

/** Checks that a body matches the kind and namespace of the path, and sets those that it leaves out. */
export function decodeObject(body: unknown, target: Target): ApiObject {
  if (!isJsonObject(body)) throw badRequest("the body of the request must be a JSON object");
  const { definition, version, namespace } = target;
  if (!definition.typed && definition.review === undefined) requireType(body, definition.kind);
  const { apiVersion = version.apiVersion, kind = definition.kind } = body;
  if (apiVersion !== version.apiVersion || kind !== definition.kind) {
    throw badRequest(
      `the object in the request is ${JSON.stringify(apiVersion)} ${JSON.stringify(kind)}, the path takes "${version.apiVersion}" "${definition.kind}"`,
    );
  }
  const metadata = body["metadata"] ?? {};
  if (!isJsonObject(metadata)) throw badRequest("metadata must be an object");
  return { ...body, apiVersion: version.apiVersion, kind: definition.kind, metadata: placed(metadata, namespace) };
}

/** Custom resources, unlike built-in kinds, must name their kind and version in the body. */
function requireType({ kind = "", apiVersion = "" }: JsonObject, wanted: string): void {
  if (kind !== "" && apiVersion !== "") return;
  const missing = kind === "" ? "Kind" : "apiVersion";
  throw badRequest(`the object provided is unrecognized (must be of type ${wanted}): Object '${missing}' is missing`);
}

/** Removes the namespace of a cluster-scoped object. */
function placed(metadata: JsonObject, namespace: string | undefined): ApiObject["metadata"] {
  const { namespace: given, ...rest } = metadata;
  if (namespace === undefined) return rest;
  if (given !== undefined && given !== "" && given !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return { ...rest, namespace };
}

/** For writes to a named object: the body may omit the name, but must not contain another one. */
export function withName(object: ApiObject, name: string): ApiObject {
  const given: unknown = object.metadata.name;
  if (given !== undefined && given !== "" && given !== name) {
    const shown = typeof given === "string" ? given : JSON.stringify(given);
    throw badRequest(`the name of the object (${shown}) does not match the name on the URL (${name})`);
  }
  return { ...object, metadata: { ...object.metadata, name } };
}
