import { ApiError } from "../api-error.ts";
import type { Identity } from "../auth/identity.ts";
import type { Attributes } from "./attributes.ts";

const quote = (text: string): string => JSON.stringify(text);

/** The refusal of a request, in the words that users of Kubernetes search for. */
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

/** What came from a URL must not read as HTML where the answer is shown. */
function asEntity(character: string): string {
  return character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;";
}
