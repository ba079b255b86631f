/** A request that is refused. The message is sent to the client. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.status = status;
    this.reason = reason;
  }

  /** As a Kubernetes Status, which the page and the SDK read. */
  get body(): string {
    const { status: code, reason, message } = this;
    return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code });
  }
}

export const badRequest = (message: string): HttpFailure => new HttpFailure(400, "BadRequest", message);
export const forbidden = (message: string): HttpFailure => new HttpFailure(403, "Forbidden", message);
export const notFound = (): HttpFailure => new HttpFailure(404, "NotFound", "Nothing is served here");
export const tooMany = (message: string): HttpFailure => new HttpFailure(429, "TooManyRequests", message);
export const noSession = (): HttpFailure =>
  new HttpFailure(401, "Unauthorized", 'There is no session: run "agent-sandbox dashboard" to log in');
