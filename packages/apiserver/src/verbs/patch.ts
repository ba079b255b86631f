import { applyMergePatch } from "@agent-sandbox/api";
import { ApiError, badRequest, invalid } from "../api-error.ts";
import { type ApiObject, isJsonObject } from "../api-object.ts";
import { copyJson } from "../json.ts";
import { jsonPatch, maxPatchOperations } from "../patch/json-patch.ts";
import { type ObjectTarget, subjectOf } from "../request/target.ts";
import type { ApiContext } from "./context.ts";
import type { Written } from "./create.ts";
import { decodeObject, withName } from "./decode.ts";
import { modify } from "./modify.ts";
import type { WriteOptions } from "./write-options.ts";

export interface PatchRequest {
  readonly contentType: string;
  readonly body: unknown;
}

export async function patch(
  context: ApiContext,
  target: ObjectTarget,
  request: PatchRequest,
  options: WriteOptions,
): Promise<Written> {
  const apply = patcher(target, request);
  return modify(context, target, {
    ...options,
    needsRevision: false,
    wanted: (current) => withName(decodeObject(apply(current), target), target.name),
  });
}

/** Reads a patch of any supported kind into the function that carries it out. */
export function patcher(target: ObjectTarget, { contentType, body }: PatchRequest): (current: ApiObject) => unknown {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase();
  switch (type) {
    case "application/merge-patch+json":
      if (!isJsonObject(body)) throw badRequest("a merge patch must be a JSON object");
      return (current) => applyMergePatch(current, body);
    case "application/json-patch+json":
      return jsonPatcher(target, body);
    case "application/strategic-merge-patch+json":
    case "application/apply-patch+yaml":
    case "application/apply-patch+cbor":
      throw unsupported(`the server does not carry out patches of the type "${type}" yet`);
    default:
      throw unsupported(`the type of the patch "${type}" is unknown`);
  }
}

function unsupported(why: string): ApiError {
  const accepted = "application/json-patch+json, application/merge-patch+json";
  return new ApiError("UnsupportedMediaType", `${why}; accepted types: ${accepted}`);
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
    // Moves can nest deeper than any body may.
    const copied = copyJson(patched.value);
    return "problem" in copied ? fail(copied.problem) : copied.value;
  };
}
