import { applyMergePatch } from "@agent-sandbox/api";
import { ApiError, badRequest, invalid } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject } from "../api-object.ts";
import { copyJson } from "../json.ts";
import { jsonPatch, maxPatchOperations } from "../patch/json-patch.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Query } from "../request/query.ts";
import { type ObjectTarget, subjectOf } from "../request/target.ts";
import { forbidden, required } from "../resources/field-problems.ts";
import { strategicMergePatch } from "../strategic/strategic-merge-patch.ts";
import { apply } from "./apply.ts";
import type { ApiContext } from "./context.ts";
import type { Written } from "./create.ts";
import { decodeObject, withName } from "./decode.ts";
import { modify } from "./modify.ts";
import { invalidOptions, type WriteOptions } from "./write-options.ts";

export interface PatchRequest {
  readonly type: string;
  readonly body: unknown;
  /** For an apply: take over fields that other managers own. */
  readonly force: boolean;
}

const jsonPatchType = "application/json-patch+json";
const mergePatchType = "application/merge-patch+json";
const strategicPatchType = "application/strategic-merge-patch+json";
export const applyType = "application/apply-patch+yaml";

/** Reads the patch type and options of a request. */
export function parsePatch({ headers, body }: Pick<ApiRequest, "headers" | "body">, query: Query): PatchRequest {
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const force = query.text("force");
  if (type === applyType) {
    if ((query.text("fieldManager") ?? "") === "") {
      throw invalidOptions("PatchOptions", [required("fieldManager", "is required for apply patch")]);
    }
  } else if (force !== undefined) {
    throw invalidOptions("PatchOptions", [forbidden("force", "may not be specified for non-apply patch")]);
  }
  return { type, body, force: query.flag("force") };
}

export async function patch(
  context: ApiContext,
  target: ObjectTarget,
  request: PatchRequest,
  options: WriteOptions,
): Promise<Written> {
  if (request.type === applyType) return apply(context, target, request, options);
  const change = patcher(target, request);
  return modify(context, target, {
    ...options,
    needsRevision: false,
    isPatch: true,
    wanted: (current) => withName(decodeObject(change(current), target), target.name),
  });
}

/** Returns the function that applies a patch of any type except server-side apply. */
export function patcher(target: ObjectTarget, { type, body }: PatchRequest): (current: ApiObject) => unknown {
  const { definition } = target;
  if (type === jsonPatchType) return jsonPatcher(target, body);
  const strategic = type === strategicPatchType && definition.typed;
  if (type !== mergePatchType && !strategic) throw unsupported(target);
  if (!isJsonObject(body)) throw badRequest("a merge patch must be a JSON object");
  return strategic ? strategicPatcher(target, body) : (current) => applyMergePatch(current, body);
}

function unsupported({ definition }: ObjectTarget): ApiError {
  const accepted = [jsonPatchType, mergePatchType, ...(definition.typed ? [strategicPatchType] : []), applyType];
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new ApiError("UnsupportedMediaType", message);
}

function strategicPatcher({ version }: ObjectTarget, body: JsonObject): (current: ApiObject) => unknown {
  return (current) => {
    const patched = strategicMergePatch(current, body, version.schema);
    if ("value" in patched) return patched.value;
    throw new ApiError(patched.code === 422 ? "Invalid" : "BadRequest", patched.problem);
  };
}

function jsonPatcher(target: ObjectTarget, body: unknown): (current: ApiObject) => unknown {
  if (!Array.isArray(body)) throw badRequest("a JSON patch must be an array of operations");
  if (body.length > maxPatchOperations) {
    throw new ApiError(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${maxPatchOperations}, got ${body.length}`,
    );
  }
  const fail = (message: string): never => {
    const { definition, name } = target;
    throw invalid(definition.kind, subjectOf(target, name), [{ field: "patch", reason: "FieldValueInvalid", message }]);
  };
  return (current) => {
    const patched = jsonPatch(current, body);
    if ("problem" in patched) return fail(patched.problem);
    // `move` and `copy` can produce deeper nesting than a request body may have.
    const copied = copyJson(patched.value);
    return "problem" in copied ? fail(copied.problem) : copied.value;
  };
}
