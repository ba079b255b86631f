import type { Status } from "@agent-sandbox/api";
import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";

/** A webhook failed to convert. Kubernetes returns this error with a message but without a reason. */
export class ConversionError extends ApiError {
  constructor(object: ApiObject, what: string, cause?: unknown) {
    const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
    super("InternalError", `conversion webhook for ${group}/${version}, Kind=${object.kind} ${what}`, { cause });
  }

  override toStatus(): Status {
    const { reason: _reason, ...status } = super.toStatus();
    return status;
  }
}
