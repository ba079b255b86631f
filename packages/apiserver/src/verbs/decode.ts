import { badRequest } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import type { Target } from "../request/target.ts";

/** Checks that a body is an object of the kind and place the path names, and gives it that kind and place. */
export function decodeObject(body: unknown, target: Target): ApiObject {
  if (!isJsonObject(body)) throw badRequest("the body of the request must be a JSON object");
  const { definition, version, namespace } = target;
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

function placed(metadata: JsonObject, namespace: string | undefined): ApiObject["metadata"] {
  const given = metadata["namespace"];
  if (given !== undefined && given !== "" && given !== namespace) {
    throw badRequest(
      namespace === undefined
        ? "the namespace of the provided object must be empty: the resource is cluster-scoped"
        : `the namespace of the provided object does not match the namespace sent on the request: ${JSON.stringify(given)}, "${namespace}"`,
    );
  }
  const { namespace: _given, ...rest } = metadata;
  return namespace === undefined ? rest : { ...rest, namespace };
}

/** For writes to a named object: the body may leave the name out, and must not say another. */
export function withName(object: ApiObject, name: string): ApiObject {
  const given: unknown = object.metadata.name;
  if (given !== undefined && given !== "" && given !== name) {
    throw badRequest(
      `the name of the object (${JSON.stringify(given)}) does not match the name on the URL ("${name}")`,
    );
  }
  return { ...object, metadata: { ...object.metadata, name } };
}
