/** The terminals as tabs, and what can be done with the one that is shown. */
import { Accessibility, ClipboardCopy, ClipboardPaste, Plus, X } from "lucide-react";
import { type KeyboardEvent, useSyncExternalStore } from "react";
import { IconButton } from "../../components/button.tsx";
import { useToast } from "../../components/toast.tsx";
import type { SessionState, TerminalSession } from "./terminal-session.ts";
import { mostTerminals, type TerminalSet } from "./terminal-set.ts";

export function tabId({ number }: TerminalSession): string {
  return `terminal-tab-${number}`;
}

export function TerminalBar({ terminals }: { readonly terminals: TerminalSet }) {
  const { sessions, current, isReader } = useSyncExternalStore(terminals.subscribe, terminals.snapshot);
  const toast = useToast();
  const paste = async (session: TerminalSession): Promise<void> => {
    try {
      session.screen.paste(await navigator.clipboard.readText());
    } catch {
      toast.failed("The browser does not let the page read the clipboard: press Ctrl+Shift+V");
    }
  };
  return (
    <div className="list-bar terminal-bar">
      <Tabs terminals={terminals} />
      <IconButton
        icon={Plus}
        label={`New terminal (at most ${mostTerminals})`}
        disabled={sessions.length >= mostTerminals}
        onClick={() => terminals.open()}
      />
      <span className="terminal-state faint small" role="status">
        {current === undefined ? "" : titles[current.state.step]}
      </span>
      {current !== undefined && (
        <>
          <IconButton
            icon={ClipboardCopy}
            label="Copy the selected text"
            disabled={!current.state.hasSelection}
            onClick={() => void current.screen.copy()}
          />
          <IconButton icon={ClipboardPaste} label="Paste" onClick={() => void paste(current)} />
          <IconButton
            icon={Accessibility}
            label="Read the output to screen readers"
            aria-pressed={isReader}
            onClick={() => terminals.setReader(!isReader)}
          />
          <IconButton
            icon={X}
            label={`Close terminal ${current.number}, and end its programs`}
            onClick={() => terminals.close(current)}
          />
        </>
      )}
    </div>
  );
}

function Tabs({ terminals }: { readonly terminals: TerminalSet }) {
  const { sessions, current } = useSyncExternalStore(terminals.subscribe, terminals.snapshot);
  const move = (event: KeyboardEvent): void => {
    const at = sessions.findIndex((session) => session === current);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step === undefined ? undefined : sessions[(at + step + sessions.length) % sessions.length];
    if (next === undefined) return;
    event.preventDefault();
    terminals.choose(next);
    document.getElementById(tabId(next))?.focus();
  };
  if (sessions.length === 0) return null;
  return (
    <div className="terminal-tabs" role="tablist" aria-label="Terminals" onKeyDown={move}>
      {sessions.map((session) => (
        <button
          key={session.number}
          id={tabId(session)}
          type="button"
          role="tab"
          aria-selected={session === current}
          aria-controls="terminal-panel"
          tabIndex={session === current ? 0 : -1}
          onClick={() => terminals.choose(session)}
        >
          <span className="visually-hidden">Terminal </span>
          {session.number}
          <span className="visually-hidden">: {titles[session.state.step]}</span>
        </button>
      ))}
    </div>
  );
}

const titles: Readonly<Record<SessionState["step"], string>> = {
  starting: "Starting",
  connected: "Connected",
  reconnecting: "Reconnecting",
  ended: "Ended",
  failed: "Not connected",
};
