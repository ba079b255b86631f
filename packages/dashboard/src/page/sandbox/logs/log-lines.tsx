/**
 * The lines of a log. They are rendered in blocks, of which only the last one changes while lines are added; the browser lays out only the
 * blocks in view.
 */
import { ArrowDownToLine } from "lucide-react";
import { memo, type UIEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import type { LogLine } from "./log-buffer.ts";

const blockLines = 200;
/** This close to the end counts as the end. */
const nearPx = 40;

interface LogLinesProps {
  readonly lines: readonly LogLine[];
  readonly query: string;
  readonly isWrapped: boolean;
  readonly hasTimes: boolean;
  readonly dropped: number;
}

/** Shows the newest lines as they arrive, until the reader scrolls up. */
export function LogLines({ lines, query, isWrapped, hasTimes, dropped }: LogLinesProps) {
  const [isFollowing, setFollowing] = useState(true);
  const frame = useFollowed(isFollowing, lines, isWrapped);
  const onScroll = (event: UIEvent<HTMLDivElement>): void => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < nearPx;
    if (isAtEnd !== isFollowing) setFollowing(isAtEnd);
  };
  return (
    <div className="log-frame">
      <div
        ref={frame}
        className={`log-lines${isWrapped ? " log-wrapped" : ""}`}
        role="log"
        aria-label="Log lines"
        aria-live="off"
        tabIndex={0}
        onScroll={onScroll}
      >
        {dropped > 0 && <p className="log-note">{dropped} older lines are no longer kept on this page</p>}
        {lines.length === 0 && <p className="log-note">{query === "" ? "No lines yet" : "No lines match"}</p>}
        {blocksOf(lines).map((block) => (
          <MemoBlock key={block[0]?.id} lines={block} query={query} hasTimes={hasTimes} />
        ))}
      </div>
      {!isFollowing && (
        <Button icon={ArrowDownToLine} onClick={() => setFollowing(true)}>
          Newest lines
        </Button>
      )}
    </div>
  );
}

/** Keeps the end in view while lines are added and while the size changes. */
function useFollowed(isFollowing: boolean, lines: readonly LogLine[], isWrapped: boolean) {
  const frame = useRef<HTMLDivElement>(null);
  const isFollowed = useRef(isFollowing);
  isFollowed.current = isFollowing;
  useLayoutEffect(() => {
    if (isFollowing && frame.current !== null) frame.current.scrollTop = frame.current.scrollHeight;
  }, [lines, isFollowing, isWrapped]);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (isFollowed.current && entry !== undefined) entry.target.scrollTop = entry.target.scrollHeight;
    });
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return frame;
}

/** Blocks begin at lines that do not change when older lines are dropped. */
function blocksOf(lines: readonly LogLine[]): readonly (readonly LogLine[])[] {
  const blocks = Map.groupBy(lines, ({ id }) => Math.floor(id / blockLines));
  return [...blocks.values()];
}

interface BlockProps {
  readonly lines: readonly LogLine[];
  readonly query: string;
  readonly hasTimes: boolean;
}

const MemoBlock = memo(
  function Block({ lines, query, hasTimes }: BlockProps) {
    return (
      <div className="log-block">
        {lines.map(({ id, time, text }) => (
          <div key={id} className="log-line">
            {hasTimes && <span className="log-time">{time.slice(11, 23)}</span>}
            <span className="log-text">
              <Marked text={text} query={query} />
            </span>
          </div>
        ))}
      </div>
    );
  },
  (a, b) =>
    a.query === b.query &&
    a.hasTimes === b.hasTimes &&
    a.lines.length === b.lines.length &&
    a.lines[0] === b.lines[0] &&
    a.lines.at(-1) === b.lines.at(-1),
);

function Marked({ text, query }: { readonly text: string; readonly query: string }) {
  if (query === "") return text === "" ? " " : text;
  const [lower, wanted] = [text.toLowerCase(), query.toLowerCase()];
  const at = lower.indexOf(wanted);
  // Some letters have another length in lower case.
  if (at < 0 || lower.length !== text.length) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </>
  );
}
