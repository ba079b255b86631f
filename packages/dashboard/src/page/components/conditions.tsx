/** The conditions of an object, as its controller reports them. */
import type { Condition } from "@agent-sandbox/api";
import { toneOfCondition } from "../model/condition-tone.ts";
import { Badge } from "./badge.tsx";
import { Section } from "./section.tsx";
import { Text } from "./text.tsx";
import { RelativeTime } from "./time.tsx";

export function Conditions({ conditions }: { readonly conditions: readonly Condition[] | undefined }) {
  if (conditions === undefined || conditions.length === 0) return null;
  return (
    <Section title="Conditions">
      <ul className="rows">
        {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
          <li key={type}>
            <span className="row-head">
              <Badge tone={toneOfCondition({ type, status })}>
                <Text of={type} />
                {status === "True" ? "" : `: ${status === "False" ? "no" : "unknown"}`}
              </Badge>
              <Text of={reason} className="soft" />
              <span className="faint small row-end">
                <RelativeTime at={lastTransitionTime} suffix=" ago" />
              </span>
            </span>
            {message !== "" && message !== undefined && (
              <p className="row-text">
                <Text of={message} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
