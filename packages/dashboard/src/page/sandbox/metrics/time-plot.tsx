/** A plot over time with axes. The numbers are below it as text, so it is hidden from screen readers. */
import { type PointerEvent, useState } from "react";
import { formatAge } from "../../components/format.ts";
import type { Sample } from "../../model/series.ts";
import { nearest, pathsOf, type Scale } from "./plot-scale.ts";

interface TimePlotProps {
  readonly samples: readonly Sample[];
  readonly scale: Scale;
  readonly format: (value: number) => string;
  /** A line across the plot, if it is in the scale. */
  readonly limit: number | undefined;
}

/** A plot of a few samples is not stretched over all of its width. */
const shortestMs = 60_000;

export function TimePlot({ samples, scale, format, limit }: TimePlotProps) {
  const [share, setShare] = useState<number>();
  const to = samples.at(-1)?.at ?? 0;
  const from = Math.min(samples[0]?.at ?? 0, to - shortestMs);
  const { line, area } = pathsOf(samples, { from, to, top: scale.top });
  const shown = share === undefined ? undefined : nearest(samples, from + share * (to - from));
  const xOf = (at: number): string => `${(((at - from) / (to - from)) * 100).toFixed(2)}%`;
  const yOf = (value: number): string => `${((1 - value / scale.top) * 100).toFixed(2)}%`;
  const onMove = ({ currentTarget, clientX }: PointerEvent): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setShare(Math.max(0, Math.min(1, (clientX - left) / width)));
  };
  return (
    <div className="plot" aria-hidden>
      <div className="plot-box" onPointerMove={onMove} onPointerLeave={() => setShare(undefined)}>
        {scale.ticks.map((tick) => (
          <span key={tick} className="plot-tick" style={{ top: yOf(tick) }}>
            <span>{format(tick)}</span>
          </span>
        ))}
        {limit !== undefined && limit <= scale.top && (
          <span className="plot-limit" style={{ top: yOf(limit) }}>
            <span>Limit</span>
          </span>
        )}
        <svg viewBox="0 0 100 100" preserveAspectRatio="none">
          <path d={area} className="sparkline-area" />
          <path d={line} className="sparkline-line" vectorEffect="non-scaling-stroke" />
        </svg>
        {shown !== undefined && (
          <>
            <span className="plot-cursor" style={{ left: xOf(shown.at) }} />
            <span className="plot-point" style={{ left: xOf(shown.at), top: yOf(Math.min(shown.value, scale.top)) }} />
            <span className={`plot-note${(share ?? 0) > 0.7 ? " plot-note-end" : ""}`} style={{ left: xOf(shown.at) }}>
              <strong>{format(shown.value)}</strong> {to === shown.at ? "now" : `${formatAge(to - shown.at)} ago`}
            </span>
          </>
        )}
      </div>
      <div className="plot-times">
        <span>{formatAge(to - from)} ago</span>
        <span>now</span>
      </div>
    </div>
  );
}
