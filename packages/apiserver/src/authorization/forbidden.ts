import { ApiError } from "../api-error.ts";
import type { Identity } from "../auth/identity.ts";
import type { Attributes } from "./attributes.ts";

const quote = (text: string): string => JSON.stringify(text);

/** The error for a request that is not allowed, with Kubernetes' message. */
export function forbiddenRequest({ user }: Identity, wanted: Attributes, reason: string): ApiError {
  const cannot = `User ${quote(user)} cannot ${wanted.verb} ${describe(wanted)}`.replace(/[&<>]/g, asEntity);
  const why = reason === "" ? cannot : `${cannot}: ${reason}`;
  if (wanted.kind === "path") return new ApiError("Forbidden", `forbidden: ${why}`, { details: {} });
  const { resource, group, name } = wanted;
  const qualified = group === "" ? resource : `${resource}.${group}`;
  const subject = name === "" ? qualified : `${qualified} ${quote(name)}`;
  const details = { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource };
  return new ApiError("Forbidden", `${subject} is forbidden: ${why}`, { details });
}

function describe(wanted: Attributes): string {
  if (wanted.kind === "path") return `path ${quote(wanted.path)}`;
  const { resource, subresource, group, namespace } = wanted;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  return `resource ${quote(what)} in API group ${quote(group)} ${where}`;
}

/** Escapes text from the URL, so that it cannot be interpreted as HTML. */
function asEntity(character: string): string {
  return character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;";
}
