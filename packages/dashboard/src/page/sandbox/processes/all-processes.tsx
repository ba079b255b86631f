/** Every process of the sandbox, as /proc lists them. They have no output here: it belongs to whoever started them. */
import { type ReactNode, useMemo } from "react";
import { cleanText } from "../../components/clean-text.ts";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { usePolled } from "../../data/use-polled.ts";
import { PollBar } from "../runtime/poll-bar.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import { mostOutputBytes, parseProcessTable, type SystemProcess, script, titleOfState } from "./process-table.ts";

export function AllProcesses({ children }: { readonly children: ReactNode }) {
  const connect = useRuntime();
  const polled = usePolled(async (signal) => {
    const { commands } = await connect();
    const { exitCode, stdout, stderr } = await commands.run(script, { signal, maxOutputBytes, timeoutMs });
    if (exitCode !== 0) throw new Error(`Cannot read /proc: ${stderr.slice(0, 300) || `exit code ${exitCode}`}`);
    return stdout;
  });
  const processes = useMemo(() => parseProcessTable(polled.value ?? ""), [polled.value]);
  const { length } = processes;
  return (
    <section className="card" aria-label="All processes of the sandbox">
      <PollBar polled={polled} count={length === 1 ? "1 process" : `${length} processes`}>
        {children}
      </PollBar>
      <Problem error={polled.error} />
      {length > 0 && (
        <Table label="All processes" columns={columns} items={processes} keyOf={({ pid }) => String(pid)} />
      )}
    </section>
  );
}

const maxOutputBytes = mostOutputBytes;
const timeoutMs = 20_000;

const columns: readonly Column<SystemProcess>[] = [
  { id: "pid", title: "PID", width: "76px", render: ({ pid }) => <span className="mono">{pid}</span> },
  {
    id: "command",
    title: "Command",
    width: "minmax(120px, 4fr)",
    render: ({ command }) => (
      <span className="mono" title={cleanText(command)}>
        <Text of={command} />
      </span>
    ),
  },
  { id: "state", title: "State", width: "minmax(90px, 1fr)", render: ({ state }) => <Text of={titleOfState(state)} /> },
  {
    id: "parent",
    title: "Parent",
    width: "76px",
    render: ({ parent }) => <span className="mono soft">{parent}</span>,
    isExtra: true,
  },
];
