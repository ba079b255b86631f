import { ExternalLink } from "lucide-react";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { cleanText } from "../../components/clean-text.ts";
import type { Column } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import type { ShownPort } from "./port-list.ts";
import type { OpenPort } from "./use-open-port.ts";

/** `opening`: the port whose button is busy. */
export function portColumns(opening: number | undefined, open: OpenPort["open"]): readonly Column<ShownPort>[] {
  const action: Column<ShownPort> = {
    id: "open",
    title: "Action",
    width: "96px",
    align: "end",
    render: ({ port, isRuntime }) =>
      !isRuntime && (
        <Button
          icon={ExternalLink}
          isSmall
          isBusy={opening === port}
          aria-label={`Open port ${port} in a new tab`}
          onClick={() => void open(port)}
        >
          Open
        </Button>
      ),
  };
  return [...facts, action];
}

const facts: readonly Column<ShownPort>[] = [
  { id: "port", title: "Port", width: "90px", render: ({ port }) => <span className="strong mono">{port}</span> },
  { id: "state", title: "State", width: "minmax(110px, 1fr)", render: (port) => <State of={port} /> },
  {
    id: "command",
    title: "Command",
    width: "minmax(120px, 3fr)",
    render: ({ commands }) => <Words of={commands} />,
    isExtra: true,
  },
  {
    id: "address",
    title: "Address",
    width: "minmax(100px, 1fr)",
    render: ({ addresses }) => <Words of={addresses} />,
    isExtra: true,
  },
  {
    id: "declared",
    title: "Declared by",
    width: "minmax(100px, 1fr)",
    render: ({ declared }) => <Text of={declared.join(", ") || "–"} className="soft" />,
    isExtra: true,
  },
];

function State({ of: { addresses, isRuntime } }: { readonly of: ShownPort }) {
  if (isRuntime) return <Badge>Runtime API</Badge>;
  if (addresses.length === 0) return <Badge>Closed</Badge>;
  return (
    <Badge tone="good" hasDot>
      Listening
    </Badge>
  );
}

function Words({ of }: { readonly of: readonly string[] }) {
  const text = cleanText(of.join(", "));
  return (
    <span className="mono soft" title={text}>
      {text || "–"}
    </span>
  );
}
