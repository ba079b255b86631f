import type { Decision } from "./reconciler.ts";

/** The status to write at `now` and the time to requeue. A status that is not due yet is left out, and the key is requeued for it. */
export function deferStatus<S>(
  { status, statusDueAt, requeueAt }: Pick<Decision<unknown, S, unknown>, "status" | "statusDueAt" | "requeueAt">,
  now: number,
): { readonly status?: S | undefined; readonly requeueAt?: number | undefined } {
  if (status === undefined || statusDueAt === undefined || statusDueAt <= now) return { status, requeueAt };
  return { status: undefined, requeueAt: Math.min(requeueAt ?? statusDueAt, statusDueAt) };
}
