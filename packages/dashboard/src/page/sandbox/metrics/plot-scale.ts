/** The scales of a plot over time. Pure. */
import type { Sample } from "../../model/series.ts";

export interface Scale {
  /** The value at the top. */
  readonly top: number;
  /** Where lines are drawn, from zero to the top. */
  readonly ticks: readonly number[];
}

const wantedTicks = 4;
/** A smaller scale would show noise. */
const fewestCores = 4e-3;
const fewestBytes = 4096;

/** Round numbers that reach at least to `highest`: decimal ones for cores, binary ones for bytes. */
export function scaleOf(highest: number, unit: "cores" | "bytes"): Scale {
  const rough = Math.max(highest, unit === "bytes" ? fewestBytes : fewestCores) / wantedTicks;
  const step = unit === "bytes" ? binaryStep(rough) : decimalStep(rough);
  const count = Math.ceil(highest / step - 1e-9) || 1;
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

function decimalStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return ([1, 2, 2.5, 5].find((factor) => factor * power >= atLeast) ?? 10) * power;
}

/** A power of two, or one and a half of it: 256 MiB, 384 MiB, 512 MiB. */
function binaryStep(atLeast: number): number {
  const power = 2 ** Math.floor(Math.log2(atLeast));
  return ([1, 1.5].find((factor) => factor * power >= atLeast) ?? 2) * power;
}

export interface Frame {
  readonly from: number;
  readonly to: number;
  readonly top: number;
}

/** Samples that are further apart are not connected: nothing was measured between them. */
const gapMs = 20_000;

/** The lines between the samples, as an SVG path in a box of 100 by 100, and each line closed to an area. */
export function pathsOf(samples: readonly Sample[], frame: Frame): { readonly line: string; readonly area: string } {
  const x = (at: number): string => (((at - frame.from) / Math.max(1, frame.to - frame.from)) * 100).toFixed(2);
  const y = (value: number): string => ((1 - Math.min(value, frame.top) / (frame.top || 1)) * 100).toFixed(2);
  const lines = splitAtGaps(samples).map((part) =>
    // One sample alone is a short level line.
    part.length === 1 ? [{ at: (part[0]?.at ?? 0) - 1000, value: part[0]?.value ?? 0 }, ...part] : part,
  );
  const draw = (part: readonly Sample[]): string =>
    part.map(({ at, value }, index) => `${index === 0 ? "M" : "L"}${x(at)} ${y(value)}`).join("");
  return {
    line: lines.map(draw).join(""),
    area: lines.map((part) => `${draw(part)}L${x(part.at(-1)?.at ?? 0)} 100L${x(part[0]?.at ?? 0)} 100Z`).join(""),
  };
}

function splitAtGaps(samples: readonly Sample[]): Sample[][] {
  const parts: Sample[][] = [];
  for (const sample of samples) {
    const part = parts.at(-1);
    const last = part?.at(-1);
    if (part === undefined || last === undefined || sample.at - last.at > gapMs) parts.push([sample]);
    else part.push(sample);
  }
  return parts;
}

export interface Summary {
  readonly now: number;
  readonly average: number;
  readonly highest: number;
}

/** Undefined without samples. */
export function summaryOf(samples: readonly Sample[]): Summary | undefined {
  const last = samples.at(-1);
  if (last === undefined) return undefined;
  const sum = samples.reduce((all, { value }) => all + value, 0);
  return { now: last.value, average: sum / samples.length, highest: Math.max(...samples.map(({ value }) => value)) };
}

/** The sample that is nearest to a time. */
export function nearest(samples: readonly Sample[], at: number): Sample | undefined {
  let found: Sample | undefined;
  for (const sample of samples) {
    if (found === undefined || Math.abs(sample.at - at) < Math.abs(found.at - at)) found = sample;
  }
  return found;
}
