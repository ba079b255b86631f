/** A new id of a request. Servers run repeated requests with the same id once. */
export function requestId(): string {
  return crypto.randomUUID();
}
