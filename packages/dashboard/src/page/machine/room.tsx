import type { Node } from "@agent-sandbox/api";
import { formatBytes, formatCores, readQuantity } from "../components/format.ts";
import { Meter } from "../components/meter.tsx";
import { Section } from "../components/section.tsx";
import { pods } from "../data/resources.ts";
import { useCan, useList } from "../data/use-data.ts";
import { requestedBy } from "../model/node-room.ts";

/** What Pods request of what the node offers. A Pod that does not fit waits. */
export function Room({ node }: { readonly node: Node }) {
  const canPods = useCan("list", pods);
  const { items, state } = useList(
    canPods ? pods : undefined,
    undefined,
    `spec.nodeName=${encodeName(node.metadata?.name)}`,
  );
  const offered = node.status?.allocatable ?? node.status?.capacity ?? {};
  const isKnown = canPods && state !== "loading";
  const requested = requestedBy(items);
  const rows = [
    { title: "Pods", used: requested.pods, most: readQuantity(offered["pods"]), format: String },
    { title: "CPU", used: requested.cpu, most: readQuantity(offered["cpu"]), format: formatCores },
    { title: "Memory", used: requested.memory, most: readQuantity(offered["memory"]), format: formatBytes },
  ];
  return (
    <Section title="Requested">
      <ul className="amounts">
        {rows.map(({ title, used, most, format }) => (
          <li key={title}>
            <span className="amount-line">
              <span>{title}</span>
              <span className="soft">
                {isKnown ? format(used) : "–"}
                {most !== undefined && ` of ${format(most)}`}
              </span>
            </span>
            <Meter share={isKnown && most !== undefined && most > 0 ? used / most : undefined} />
          </li>
        ))}
      </ul>
      <p className="section-foot faint small">A Pod whose requests do not fit waits until there is room.</p>
    </Section>
  );
}

/** The name is part of a selector. Names of nodes have no other characters. */
function encodeName(name = ""): string {
  return name.replaceAll(/[^a-z0-9.-]/g, "");
}
