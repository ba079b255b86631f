/** The nodes of a cluster, with what they say about themselves. One of them is shown below. */
import type { Node } from "@agent-sandbox/api";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { NodeBadges } from "./node-badges.tsx";

interface NodeListProps {
  readonly nodes: readonly Node[];
  readonly shown: string | undefined;
  readonly onShow: (name: string) => void;
}

export function NodeList({ nodes, shown, onShow }: NodeListProps) {
  return (
    <Section title="Nodes" aside={<span className="faint small">{nodes.length}</span>}>
      <ul className="rows">
        {nodes.map((node) => {
          const name = node.metadata?.name ?? "";
          const { capacity, nodeInfo } = node.status ?? {};
          return (
            <li key={name}>
              <span className="row-head node-row">
                <button type="button" className="link" aria-pressed={name === shown} onClick={() => onShow(name)}>
                  <Text of={name} />
                </button>
                <NodeBadges node={node} />
                <span className="faint small row-end">
                  <Text
                    of={[capacity?.["cpu"] && `${capacity["cpu"]} cores`, nodeInfo?.kubeletVersion]
                      .filter(Boolean)
                      .join(" · ")}
                  />
                </span>
              </span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
