import type { Node } from "@agent-sandbox/api";
import { Badge, type Tone } from "../components/badge.tsx";
import { Text } from "../components/text.tsx";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** What a person must know about a node: whether it is ready, and what is wrong with it. */
export function NodeBadges({ node }: { readonly node: Node }) {
  const conditions = node.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  const wrong = conditions.filter((one) => one.type !== "Ready" && toneOf(one) !== "good");
  return (
    <>
      <Badge tone={ready?.status === "True" ? "good" : "bad"} hasDot>
        {ready?.status === "True" ? "Ready" : ready?.status === "Unknown" ? "Unknown" : "Not ready"}
      </Badge>
      {node.spec?.unschedulable === true && <Badge tone="warn">No new Pods</Badge>}
      {wrong.slice(0, 6).map((one) => (
        <Badge key={one.type} tone={toneOf(one)}>
          <Text of={one.type} />
        </Badge>
      ))}
    </>
  );
}

/** `Ready` is good if true. Other conditions of a Node name a problem: they are good if false. */
export function toneOf({ type, status }: Condition): Tone {
  if (type === "Ready") return status === "True" ? "good" : "bad";
  if (status === "False") return "good";
  return type.endsWith("Pressure") && status === "True" ? "bad" : "warn";
}
