import { KubeError } from "@agent-sandbox/kube";
import { HttpError } from "./http-error.ts";

/** The answer for a failed call of the API server. Its message names the missing right or the invalid field. */
export function asHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (!(error instanceof KubeError)) return new HttpError(500, "An internal error occurred", { cause: error });
  const { reason, message, code } = error;
  switch (reason) {
    case "Invalid":
    case "BadRequest":
      return new HttpError(400, message, { cause: error });
    case "Unauthorized":
    case "Forbidden":
    case "NotFound":
    case "Conflict":
    case "AlreadyExists":
    case "TooManyRequests":
    case "RequestEntityTooLarge":
      return new HttpError(code, message, { cause: error });
    default:
      return new HttpError(503, "The API server is not available", { cause: error });
  }
}
