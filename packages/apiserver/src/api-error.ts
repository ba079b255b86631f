import type { Status } from "@agent-sandbox/api";
import type { FieldError as SchemaError } from "@agent-sandbox/api/schema";

/** A problem of one field: by its schema, or because it refers to a missing object. */
export interface FieldError extends Omit<SchemaError, "reason"> {
  readonly reason: SchemaError["reason"] | "FieldValueNotFound";
}

const codeByReason = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type ApiReason = keyof typeof codeByReason;

export interface ApiErrorOptions {
  readonly details?: Status["details"];
  readonly cause?: unknown;
}

/** An error that the server answers with a Kubernetes `Status`. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: ApiReason;
  readonly details: Status["details"];

  constructor(reason: ApiReason, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.details = options.details;
  }

  get code(): number {
    return codeByReason[this.reason];
  }

  toStatus(): Status {
    const { message, reason, code, details } = this;
    return {
      apiVersion: "v1",
      kind: "Status",
      metadata: {},
      status: "Failure",
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** The object that an error is about. In `Status.details`, its plural is the `kind`. */
export interface ErrorSubject {
  readonly group: string;
  readonly plural: string;
  readonly name: string;
}

const detailsOf = ({ group, plural, name }: ErrorSubject): NonNullable<Status["details"]> => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind: plural,
});

const qualified = ({ group, plural }: ErrorSubject): string => (group === "" ? plural : `${plural}.${group}`);

type StatusCause = NonNullable<NonNullable<Status["details"]>["causes"]>[number];

export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message);

export const methodNotAllowed = (): ApiError =>
  new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource", { details: {} });

export const notFound = (subject: ErrorSubject): ApiError =>
  new ApiError("NotFound", `${qualified(subject)} "${subject.name}" not found`, { details: detailsOf(subject) });

export const alreadyExists = (subject: ErrorSubject): ApiError =>
  new ApiError("AlreadyExists", `${qualified(subject)} "${subject.name}" already exists`, {
    details: detailsOf(subject),
  });

export const conflict = (subject: ErrorSubject, why: string): ApiError =>
  new ApiError("Conflict", `Operation cannot be fulfilled on ${qualified(subject)} "${subject.name}": ${why}`, {
    details: detailsOf(subject),
  });

export const forbidden = (subject: ErrorSubject, why: string, causes: StatusCause[] = []): ApiError =>
  new ApiError("Forbidden", `${qualified(subject)} "${subject.name}" is forbidden: ${why}`, {
    details: { ...detailsOf(subject), ...(causes.length === 0 ? {} : { causes }) },
  });

export const expired = (message: string): ApiError => new ApiError("Expired", message);

export const pathNotFound = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource", { details: {} });

/** A client can send thousands of invalid fields. The answer lists this many. */
const maxCauses = 100;

export function invalid(kind: string, subject: ErrorSubject, errors: readonly FieldError[]): ApiError {
  const shown = errors.slice(0, maxCauses);
  const listed = shown.map(({ field, message }) => `${field}: ${message}`);
  const summary = listed.length === 1 ? listed[0] : `[${listed.join(", ")}]`;
  const where = subject.group === "" ? kind : `${kind}.${subject.group}`;
  return new ApiError("Invalid", `${where} "${subject.name}" is invalid: ${summary}`, {
    details: { ...detailsOf(subject), kind, causes: shown.map((cause) => ({ ...cause })) },
  });
}
