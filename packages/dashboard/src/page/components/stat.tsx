/** A number with a small plot of what happened since the page was opened. */
import type { ReactNode } from "react";
import type { Sample } from "../model/series.ts";
import { Sparkline } from "./sparkline.tsx";

const shownSamples = 120;

interface StatProps {
  readonly title: string;
  readonly value: string;
  readonly unit?: ReactNode;
  readonly values: readonly number[];
  readonly highest?: number | undefined;
}

/** Belongs in `<dl className="card stats">`. */
export function Stat({ title, value, unit, values, highest }: StatProps) {
  return (
    <div className="stat">
      <dt>{title}</dt>
      <dd>
        <span className="stat-value">{value}</span>
        {unit !== undefined && <span className="stat-unit">{unit}</span>}
      </dd>
      <Sparkline values={values} highest={highest} />
    </div>
  );
}

/** The last values, as many as a plot shows. */
export function valuesOf(samples: readonly Sample[]): number[] {
  return samples.slice(-shownSamples).map(({ value }) => value);
}
