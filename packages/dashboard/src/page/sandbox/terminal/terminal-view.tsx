/** Shells in the sandbox. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { cleanText } from "../../components/clean-text.ts";
import { useBackend } from "../../data/backend.ts";
import { RuntimeView } from "../runtime/runtime-view.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { TerminalBar } from "./terminal-bar.tsx";
import { TerminalPanel } from "./terminal-panel.tsx";
import { terminalsOf } from "./terminal-set.ts";

export default function TerminalView() {
  const { name = "my-sandbox", namespace = "default" } = useSandbox().sandbox.metadata;
  return (
    <RuntimeView command={`agent-sandbox shell ${cleanText(name)} -n ${cleanText(namespace)}`}>
      <Terminals />
    </RuntimeView>
  );
}

function Terminals() {
  const backend = useBackend();
  const { uid = "", name = "", namespace = "" } = useSandbox().sandbox.metadata;
  const [terminals] = useState(() =>
    terminalsOf(backend, uid, (onConnection) => backend.runtime.watchedSandbox({ namespace, name }, onConnection)),
  );
  const { current } = useSyncExternalStore(terminals.subscribe, terminals.snapshot);
  useEffect(() => {
    terminals.enter();
    return () => terminals.leave();
  }, [terminals]);
  return (
    <section className="card terminals" aria-label="Terminals">
      <TerminalBar terminals={terminals} />
      {current === undefined ? (
        <p className="terminal-note faint">All terminals are closed.</p>
      ) : (
        <TerminalPanel key={current.number} session={current} terminals={terminals} />
      )}
    </section>
  );
}
