/** Parses a `Retry-After` header to milliseconds: seconds, as API servers send it, or a date. */
export function readRetryAfter(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*[0-9]{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
