import type { Decision } from "./reconciler.ts";

/** What is left of a decision's report at `now`: a status that is not due yet is not written, but the key is requeued for it. */
export function deferStatus<S>(
  { status, statusDueAt, requeueAt }: Pick<Decision<unknown, S, unknown>, "status" | "statusDueAt" | "requeueAt">,
  now: number,
): { readonly status?: S | undefined; readonly requeueAt?: number | undefined } {
  if (status === undefined || statusDueAt === undefined || statusDueAt <= now) return { status, requeueAt };
  return { status: undefined, requeueAt: Math.min(requeueAt ?? statusDueAt, statusDueAt) };
}
