/** The age of a timestamp in kubectl's short form: `5s`, `3m20s`, `4h`, `12d`. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(at) ? "<unknown>" : duration(Math.max(0, Math.floor((nowMs - at) / 1000)));
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

function duration(seconds: number): string {
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return two(seconds, [minute, "m"], [1, "s"]);
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return two(seconds, [hour, "h"], [minute, "m"]);
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return two(seconds, [day, "d"], [hour, "h"]);
  if (seconds < 2 * 365 * day) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * 365 * day) return two(seconds, [365 * day, "y"], [day, "d"]);
  return `${Math.floor(seconds / (365 * day))}y`;
}

type Unit = readonly [seconds: number, name: string];

function two(seconds: number, [big, bigName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % big) / small);
  return `${Math.floor(seconds / big)}${bigName}${rest === 0 ? "" : `${rest}${smallName}`}`;
}
