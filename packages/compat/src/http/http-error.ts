/** An error answer in the form that E2B's clients expect: `{"code": 404, "message": "..."}`. The message is sent to the client. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Further members of the body. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    message: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.status = status;
    this.headers = more.headers ?? {};
    this.details = more.details ?? {};
  }

  get body(): object {
    return { ...this.details, code: this.status, message: this.message };
  }
}

export const badRequest = (message: string): HttpError => new HttpError(400, message);
export const unauthorized = (message: string): HttpError => new HttpError(401, message);
export const notFound = (message: string): HttpError => new HttpError(404, message);

/** A feature that this server does not have. Clients must not try again. */
export const notOffered = (feature: string): HttpError =>
  new HttpError(501, `${feature} is not offered by this server`, { headers: { "should-retry": "false" } });
