/** A small plot without axes. The numbers are beside it as text, so it is hidden from screen readers. */
import { linePath } from "../model/series.ts";

interface SparklineProps {
  readonly values: readonly number[];
  readonly width?: number;
  readonly height?: number;
  /** The top of the scale. Default: the highest value. */
  readonly highest?: number | undefined;
}

export function Sparkline({ values, width = 120, height = 34, highest }: SparklineProps) {
  const inner = height - 3;
  const line = linePath(values, width, inner, highest);
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {line !== "" && (
        <g transform="translate(0 1.5)">
          <path d={`${line}L${width} ${inner}L0 ${inner}Z`} className="sparkline-area" />
          <path d={line} className="sparkline-line" vectorEffect="non-scaling-stroke" />
        </g>
      )}
    </svg>
  );
}
