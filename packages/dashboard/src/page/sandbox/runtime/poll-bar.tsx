/** The bar above what is read again and again: how current it is, and a button that reads it now. */
import { RefreshCw } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../components/button.tsx";
import type { Polled } from "../../data/poller.ts";

interface PollBarProps {
  readonly polled: Polled<unknown> & { readonly refresh: () => void };
  /** As in `3 ports`. */
  readonly count: string;
  readonly children?: ReactNode;
}

export function PollBar({ polled: { value, error, isPaused, refresh }, count, children }: PollBarProps) {
  const state = error !== undefined ? "Not current" : isPaused ? "Paused, so that the sandbox can sleep" : "";
  return (
    <div className="list-bar log-bar">
      {children}
      <span className="log-state faint small" role="status">
        {[...(value === undefined ? [] : [count]), ...(state === "" ? [] : [state])].join(" · ")}
      </span>
      <Button icon={RefreshCw} onClick={refresh}>
        Refresh
      </Button>
    </div>
  );
}
