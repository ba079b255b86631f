import { X } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { IconButton } from "../../components/button.tsx";
import { Problem } from "../../components/problem.tsx";
import { useRuntime } from "../runtime/use-runtime.ts";
import { OutputFollower, type ShownOutput } from "./output-follower.ts";
import type { ShownProcess } from "./process-list.ts";

/** What the process writes, until the panel is closed. */
export function OutputPanel({ process, onClose }: { readonly process: ShownProcess; readonly onClose: () => void }) {
  const connect = useRuntime();
  const [follower] = useState(() => new OutputFollower(connect, process.id));
  useEffect(() => follower.start(), [follower]);
  const output = useSyncExternalStore(follower.subscribe, follower.snapshot);
  const frame = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current && frame.current !== null) frame.current.scrollTop = frame.current.scrollHeight;
  }, [output.text]);
  const title = `Output of process ${process.id}`;
  return (
    <section className="card process-output" aria-label={title}>
      <header className="card-head">
        <h2>{title}</h2>
        <span className="faint small" role="status">
          {titles[output.state]}
        </span>
        <IconButton icon={X} label="Close the output" onClick={onClose} />
      </header>
      <Problem error={output.error} />
      {output.isCut && <p className="log-note">Only the newest output is shown</p>}
      <pre
        ref={frame}
        className="process-text"
        role="log"
        aria-label={title}
        aria-live="off"
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearPx;
        }}
      >
        {output.text === "" && output.state !== "loading" ? (
          <span className="faint">It has written nothing</span>
        ) : (
          output.text
        )}
      </pre>
    </section>
  );
}

/** This close to the end counts as the end. */
const nearPx = 40;

const titles: Readonly<Record<ShownOutput["state"], string>> = {
  loading: "Loading",
  live: "Live",
  ended: "The process has ended",
  failed: "",
};
