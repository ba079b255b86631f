/** A short word in the colour of its meaning. The colour is never the only sign: the word says the same. */
import type { ReactNode } from "react";

export type Tone = "good" | "sleep" | "busy" | "bad" | "warn" | "neutral" | "accent";

export function Badge({
  tone = "neutral",
  hasDot,
  children,
}: {
  readonly tone?: Tone;
  readonly hasDot?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <span className={`badge tone-${tone}`}>
      {hasDot === true && <span className="dot" aria-hidden />}
      {children}
    </span>
  );
}
