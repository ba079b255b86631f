/** Numbers over time, for small plots. Pure: times are arguments. */

export interface Sample {
  readonly at: number;
  readonly value: number;
}

/** Adds a sample. Only the last ones are kept. */
export function addSample(samples: readonly Sample[], sample: Sample, most: number): readonly Sample[] {
  return [...samples, sample].slice(-most);
}

/** How many of these times are in each of the last minutes, the present minute last. */
export function perMinute(times: Iterable<number>, now: number, minutes: number): number[] {
  const counts = Array.from({ length: minutes }, () => 0);
  for (const time of times) {
    const age = Math.floor((now - time) / 60_000);
    if (age >= 0 && age < minutes) counts[minutes - 1 - age] = (counts[minutes - 1 - age] ?? 0) + 1;
  }
  return counts;
}

/** The middle value; undefined without values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/** The points of a line in a box, as an SVG path. The scale begins at zero. One value is a level line. */
export function linePath(
  values: readonly number[],
  width: number,
  height: number,
  highest = Math.max(...values),
): string {
  if (values.length === 0) return "";
  const top = highest > 0 ? highest : 1;
  const y = (value: number): string => (height - (Math.min(value, top) / top) * height).toFixed(1);
  const [first = 0] = values;
  if (values.length === 1) return `M0 ${y(first)}H${width}`;
  const step = width / (values.length - 1);
  return values.map((value, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${y(value)}`).join("");
}
