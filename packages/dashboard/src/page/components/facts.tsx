/** Titles and values of one object, in columns. A fact without a value is left out. */
import type { ReactNode } from "react";

export interface Fact {
  readonly title: string;
  readonly value: ReactNode;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(({ value }) => value !== undefined && value !== "")
        .map(({ title, value }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
