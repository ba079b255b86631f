/** A card with a heading, and a control at its end. */
import { type ReactNode, useId } from "react";

interface SectionProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly aside?: ReactNode;
}

export function Section({ title, children, aside }: SectionProps) {
  const id = useId();
  return (
    <section className="card section" aria-labelledby={id}>
      <header className="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
