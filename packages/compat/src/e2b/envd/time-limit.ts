import { badRequest } from "../../http/http-error.ts";

/** `Connect-Timeout-Ms`: at most ten digits. Undefined without a limit. */
export function timeLimitMs(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !/^\d{1,10}$/.test(header)) throw badRequest("Connect-Timeout-Ms is not valid");
  const ms = Number(header);
  return ms === 0 ? undefined : ms;
}
