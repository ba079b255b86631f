/** The ports that programs listen on, and those that containers declare. Each opens in a tab of its own. */

import { ExternalLink, Unplug } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../../components/button.tsx";
import { cleanText } from "../../components/clean-text.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Problem } from "../../components/problem.tsx";
import { Table } from "../../components/table.tsx";
import { usePolled } from "../../data/use-polled.ts";
import { PollBar } from "../runtime/poll-bar.tsx";
import { RuntimeView } from "../runtime/runtime-view.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import { useSandbox } from "../sandbox-context.tsx";
import { portColumns } from "./port-columns.tsx";
import { readPort, shownPorts } from "./port-list.ts";
import { type OpenPort, useOpenPort } from "./use-open-port.ts";

export default function PortsView() {
  const { name = "my-sandbox", namespace = "default" } = useSandbox().sandbox.metadata;
  return (
    <RuntimeView command={`agent-sandbox open ${cleanText(name)} 8000 -n ${cleanText(namespace)}`}>
      <Ports />
    </RuntimeView>
  );
}

function Ports() {
  const { sandbox } = useSandbox();
  const connect = useRuntime();
  const polled = usePolled(async (signal) => (await connect()).ports.list({ signal }));
  const ports = useMemo(() => shownPorts(polled.value, sandbox), [polled.value, sandbox]);
  const { opening, late, open, openLate } = useOpenPort();
  const columns = useMemo(() => portColumns(opening, open), [opening, open]);
  const listening = ports.filter(({ addresses, isRuntime }) => addresses.length > 0 && !isRuntime).length;
  return (
    <section className="card" aria-label="Ports">
      <PollBar polled={polled} count={listening === 1 ? "1 open port" : `${listening} open ports`}>
        <AnyPort opening={opening} open={open} />
      </PollBar>
      {late !== undefined && (
        <p className="late-link" role="status">
          The link to port {late.port} is ready.
          <Button icon={ExternalLink} variant="primary" onClick={openLate}>
            Open port {late.port}
          </Button>
        </p>
      )}
      <Problem error={polled.error} />
      {ports.every(({ isRuntime }) => isRuntime) && polled.value !== undefined && (
        <EmptyState icon={Unplug} title="Nothing listens in this sandbox">
          Start a server in it, and its port appears here.
        </EmptyState>
      )}
      {ports.length > 0 && <Table label="Ports" columns={columns} items={ports} keyOf={({ port }) => String(port)} />}
    </section>
  );
}

/** A server that was just started, or that this page cannot see. */
function AnyPort({ opening, open }: Pick<OpenPort, "opening" | "open">) {
  const [text, setText] = useState("");
  const port = readPort(text);
  const isWrong = text !== "" && port === undefined;
  return (
    <form
      className="any-port"
      onSubmit={(event) => {
        event.preventDefault();
        if (port !== undefined) void open(port);
      }}
    >
      <input
        className="input mono"
        aria-label="Number of a port"
        placeholder="Port"
        inputMode="numeric"
        autoComplete="off"
        value={text}
        aria-invalid={isWrong}
        title={isWrong ? "Write a number from 1 to 65535" : undefined}
        onChange={(event) => setText(event.target.value)}
      />
      <Button
        type="submit"
        icon={ExternalLink}
        disabled={port === undefined}
        isBusy={port !== undefined && opening === port}
      >
        Open port
      </Button>
    </form>
  );
}
