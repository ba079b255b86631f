import { RefreshCw } from "lucide-react";
import { useEffect, useRef } from "react";
import { Button } from "../../components/button.tsx";
import { Problem } from "../../components/problem.tsx";
import { usePreferences } from "../../shell/preferences.tsx";
import { leaveKeys } from "./keys.ts";
import { tabId } from "./terminal-bar.tsx";
import type { TerminalSession } from "./terminal-session.ts";
import type { TerminalSet } from "./terminal-set.ts";

interface PanelProps {
  readonly session: TerminalSession;
  readonly terminals: TerminalSet;
}

export function TerminalPanel({ session, terminals }: PanelProps) {
  const place = useRef<HTMLDivElement>(null);
  const { isDark } = usePreferences();
  const { isReader } = terminals.snapshot();
  const { state, screen } = session;
  useEffect(() => screen.setLook({ isDark, isReader }), [screen, isDark, isReader]);
  useEffect(() => {
    session.onLeave = () => document.getElementById(tabId(session))?.focus();
    const hide = place.current === null ? undefined : screen.show(place.current, hintId);
    // The shell starts with the size of its screen.
    session.enter();
    return hide;
  }, [session, screen]);
  return (
    <div role="tabpanel" id="terminal-panel" aria-labelledby={tabId(session)}>
      <Problem error={state.error} />
      {state.step === "ended" && (
        <Notice text={endText(state.exitCode)} action="New terminal" onClick={() => terminals.open()} />
      )}
      {state.step === "failed" && (
        <Notice text="The terminal is not connected." action="Connect again" onClick={() => session.enter()} />
      )}
      <div className="terminal-screen" ref={place} />
      <p className="terminal-note faint small" id={hintId}>
        <kbd>{leaveKeys}</kbd> leaves the terminal, <kbd>Ctrl+Shift+C</kbd> copies, <kbd>Ctrl+Shift+V</kbd> pastes. Its
        programs go on for ten minutes after you have left this view.
      </p>
    </div>
  );
}

interface NoticeProps {
  readonly text: string;
  readonly action: string;
  readonly onClick: () => void;
}

function Notice({ text, action, onClick }: NoticeProps) {
  return (
    <div className="terminal-notice" role="status">
      {text}
      <Button icon={RefreshCw} isSmall onClick={onClick}>
        {action}
      </Button>
    </div>
  );
}

function endText(exitCode: number | undefined): string {
  if (exitCode === undefined) return "The shell no longer runs: the sandbox was restarted, or nobody looked at it.";
  return exitCode === -1 ? "A signal ended the shell." : `The shell has ended with exit code ${exitCode}.`;
}

const hintId = "terminal-hint";
