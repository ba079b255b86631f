import type { Node } from "@agent-sandbox/api";
import { Badge } from "../components/badge.tsx";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { toneOf } from "./node-badges.tsx";

export function NodeConditions({ node }: { readonly node: Node }) {
  const conditions = node.status?.conditions ?? [];
  return (
    <Section title="Conditions">
      <ul className="rows">
        {conditions.map((condition) => (
          <li key={condition.type}>
            <span className="row-head">
              <Badge tone={toneOf(condition)} hasDot>
                <Text of={condition.type} />
                {condition.status === "True" ? "" : `: ${condition.status === "False" ? "no" : "unknown"}`}
              </Badge>
              <span className="faint small row-end">
                <RelativeTime at={condition.lastTransitionTime} suffix=" ago" />
              </span>
            </span>
            <p className="row-text">
              <Text of={condition.message || condition.reason} />
            </p>
          </li>
        ))}
      </ul>
    </Section>
  );
}
