/** The processes that were started through the runtime API: by an SDK, the command line, an agent or this page. */
import { SquareTerminal, Text as TextIcon, XCircle } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { cleanText } from "../../components/clean-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Problem } from "../../components/problem.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Text } from "../../components/text.tsx";
import { RelativeTime } from "../../components/time.tsx";
import { usePolled } from "../../data/use-polled.ts";
import { PollBar } from "../runtime/poll-bar.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import { KillDialog } from "./kill-dialog.tsx";
import { OutputPanel } from "./output-panel.tsx";
import { type ShownProcess, shownProcesses } from "./process-list.ts";

export function StartedProcesses({ children }: { readonly children: ReactNode }) {
  const connect = useRuntime();
  const polled = usePolled(async (signal) => (await connect()).commands.list({ signal }));
  const processes = useMemo(() => shownProcesses(polled.value), [polled.value]);
  const [shown, setShown] = useState<ShownProcess>();
  const [killed, setKilled] = useState<ShownProcess>();
  const columns = useMemo(() => columnsFor(setShown, setKilled), []);
  const running = processes.filter(({ end }) => end === undefined).length;
  return (
    <>
      <section className="card" aria-label="Processes started through the runtime API">
        <PollBar polled={polled} count={`${running} running, ${processes.length - running} ended recently`}>
          {children}
        </PollBar>
        <Problem error={polled.error} />
        {processes.length === 0 && polled.value !== undefined && (
          <EmptyState icon={SquareTerminal} title="No process was started through the runtime API">
            Here are the processes of the SDKs, of agents and of terminals, with their output. The program of the
            container writes to the log.
          </EmptyState>
        )}
        {processes.length > 0 && (
          <Table label="Processes" columns={columns} items={processes} keyOf={({ id }) => String(id)} />
        )}
      </section>
      {shown !== undefined && <OutputPanel key={shown.id} process={shown} onClose={() => setShown(undefined)} />}
      {killed !== undefined && (
        <KillDialog process={killed} onDone={polled.refresh} onClose={() => setKilled(undefined)} />
      )}
    </>
  );
}

type Choose = (process: ShownProcess) => void;

function columnsFor(show: Choose, kill: Choose): readonly Column<ShownProcess>[] {
  return [
    {
      id: "command",
      title: "Command",
      width: "minmax(120px, 3fr)",
      render: ({ command, folder }) => (
        <span className="mono" title={cleanText(folder === "" ? command : `${command} (in ${folder})`)}>
          <Text of={command || "–"} />
        </span>
      ),
    },
    { id: "state", title: "State", width: "minmax(96px, 1fr)", render: (process) => <State of={process} /> },
    { id: "id", title: "Number", width: "76px", render: ({ id }) => <span className="mono">{id}</span>, isExtra: true },
    { id: "pid", title: "PID", width: "76px", render: ({ pid }) => <span className="mono">{pid}</span>, isExtra: true },
    {
      id: "started",
      title: "Started",
      width: "90px",
      render: ({ startedAt }) => <RelativeTime at={startedAt} suffix=" ago" />,
      isExtra: true,
    },
    {
      id: "actions",
      title: "Actions",
      width: "176px",
      align: "end",
      render: (process) => (
        <>
          <Button
            icon={TextIcon}
            isSmall
            aria-label={`Show the output of process ${process.id}`}
            onClick={() => show(process)}
          >
            Output
          </Button>
          {process.end === undefined && (
            <Button
              icon={XCircle}
              isSmall
              variant="danger"
              aria-label={`Kill process ${process.id}, or send it a signal`}
              onClick={() => kill(process)}
            >
              Kill
            </Button>
          )}
        </>
      ),
    },
  ];
}

function State({ of: { end, isFailed } }: { readonly of: ShownProcess }) {
  if (end === undefined) {
    return (
      <Badge tone="good" hasDot>
        Running
      </Badge>
    );
  }
  return <Badge tone={isFailed ? "bad" : "neutral"}>{end}</Badge>;
}
