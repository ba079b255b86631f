import { lastActivityAnnotation } from "../annotations.ts";
import { parseTime } from "../primitives/time.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";

/**
 * The value of the `last-activity` annotation; undefined when it is absent or not a valid time. Everybody who may edit the
 * Sandbox can write the annotation, so an invalid value counts as no activity.
 */
export function lastActivity({ metadata }: Sandbox): string | undefined {
  const written = metadata.annotations?.[lastActivityAnnotation];
  return typeof written !== "string" || "error" in parseTime(written) ? undefined : written;
}

/**
 * When activity was last recorded, on any machine, in milliseconds since the epoch. A time after `now` was written by a
 * wrong clock, or by hand, and does not count: it would otherwise suppress every write until that time comes.
 */
export function lastActivityMs(sandbox: Sandbox, now: number): number | undefined {
  const time = parseTime(lastActivity(sandbox) ?? "");
  return "error" in time || time.epochMs > now ? undefined : time.epochMs;
}
