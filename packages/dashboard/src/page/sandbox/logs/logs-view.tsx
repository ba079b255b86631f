/** The log of a container, followed while it is shown. */
import { Download, Lock, Moon, Pause, Play, ScrollText, WrapText } from "lucide-react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Button, IconButton } from "../../components/button.tsx";
import { cleanText } from "../../components/clean-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { SearchField } from "../../components/search-field.tsx";
import { Text } from "../../components/text.tsx";
import { useBackend } from "../../data/backend.ts";
import { pods } from "../../data/resources.ts";
import { useCan } from "../../data/use-data.ts";
import { saveFile } from "../files/save-file.ts";
import { useSandbox } from "../sandbox-context.tsx";
import { findLines, type LogLine } from "./log-buffer.ts";
import { LogFollower, type LogState } from "./log-follower.ts";
import { LogLines } from "./log-lines.tsx";

export default function LogsView() {
  const { sandbox, pod } = useSandbox();
  const { namespace = "" } = sandbox.metadata;
  const canRead = useCan("get", pods, { namespace, subresource: "log" });
  const { initContainers = [], containers = [] } = pod?.spec ?? {};
  const names = [...containers, ...initContainers].map(({ name }) => name);
  const [container, setContainer] = useState(names[0] ?? "");
  const [isPrevious, setPrevious] = useState(false);
  const chosen = names.includes(container) ? container : (names[0] ?? "");
  const restarts = pod?.status?.containerStatuses?.find(({ name }) => name === chosen)?.restartCount ?? 0;
  if (pod === undefined) {
    return (
      <div className="card">
        <EmptyState icon={Moon} title="No processes run now">
          Logs belong to the Pod of the sandbox. It has none while the sandbox sleeps.
        </EmptyState>
      </div>
    );
  }
  if (!canRead) {
    return (
      <div className="card">
        <EmptyState icon={Lock} title="You may not read logs here">
          This needs the right to get pods/log in the namespace <Text of={namespace} />.
        </EmptyState>
      </div>
    );
  }
  const source = { namespace, pod: pod.metadata?.name ?? "", container: chosen, isPrevious };
  return (
    <section className="card logs" aria-label="Logs">
      <Log key={`${chosen} ${isPrevious}`} source={source}>
        <select
          className="input"
          aria-label="Container"
          value={chosen}
          onChange={(event) => {
            setContainer(event.target.value);
            setPrevious(false);
          }}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {cleanText(name)}
            </option>
          ))}
        </select>
        {restarts > 0 && (
          <label className="check">
            <input type="checkbox" checked={isPrevious} onChange={(event) => setPrevious(event.target.checked)} />
            Run before the restart
          </label>
        )}
      </Log>
    </section>
  );
}

interface LogProps {
  readonly source: ConstructorParameters<typeof LogFollower>[1];
  readonly children: React.ReactNode;
}

function Log({ source, children }: LogProps) {
  const { streams } = useBackend();
  const [follower] = useState(() => new LogFollower(streams, source));
  useEffect(() => follower.start(), [follower]);
  const log = useSyncExternalStore(follower.subscribe, follower.snapshot);
  const [query, setQuery] = useState("");
  const [isWrapped, setWrapped] = useState(true);
  const [hasTimes, setTimes] = useState(false);
  const [paused, setPaused] = useState<readonly LogLine[]>();
  const shown = paused ?? log.lines;
  const found = useMemo(() => findLines(shown, query), [shown, query]);
  const waiting = paused === undefined ? 0 : (log.lines.at(-1)?.id ?? -1) - (paused.at(-1)?.id ?? -1);
  return (
    <>
      <div className="list-bar log-bar">
        {children}
        <SearchField label="Search the log" value={query} onChange={setQuery} />
        <span className="log-state">
          <LogStatus log={log} found={query === "" ? undefined : found.length} waiting={waiting} />
        </span>
        <label className="check">
          <input type="checkbox" checked={hasTimes} onChange={(event) => setTimes(event.target.checked)} />
          Times
        </label>
        <IconButton
          icon={WrapText}
          label="Wrap lines"
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        />
        <IconButton icon={Download} label="Save the log" onClick={() => saveLog(shown, source)} />
        <Button
          icon={paused === undefined ? Pause : Play}
          onClick={() => setPaused(paused === undefined ? log.lines : undefined)}
        >
          {paused === undefined ? "Pause" : "Continue"}
        </Button>
      </div>
      {log.state === "refused" ? (
        <EmptyState icon={ScrollText} title="The log cannot be read">
          <Text of={log.problem} />
        </EmptyState>
      ) : (
        <LogLines lines={found} query={query} isWrapped={isWrapped} hasTimes={hasTimes} dropped={log.dropped} />
      )}
    </>
  );
}

function saveLog(lines: readonly LogLine[], { pod, container }: LogProps["source"]): void {
  const text = lines.map(({ time, text }) => `${time} ${text}\n`);
  saveFile(new Blob(text, { type: "text/plain" }), `${pod}-${container}.log`);
}

interface LogStatusProps {
  readonly log: LogState;
  readonly found: number | undefined;
  readonly waiting: number;
}

function LogStatus({ log, found, waiting }: LogStatusProps) {
  const state = waiting > 0 ? `Paused, ${waiting} new lines` : titles[log.state];
  return (
    <span role="status" className="faint small">
      {state}
      {found !== undefined && ` · ${found} matching lines`}
    </span>
  );
}

const titles: Readonly<Record<LogState["state"], string>> = {
  loading: "Loading",
  live: "Live",
  ended: "The container has ended",
  stale: "Reconnecting",
  refused: "",
};
