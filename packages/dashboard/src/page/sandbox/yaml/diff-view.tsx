import { useMemo } from "react";
import { cleanLines } from "../../components/clean-text.ts";
import { diffLines, onlyChanges } from "./line-diff.ts";

const signs = { same: " ", added: "+", removed: "-" } as const;

/** The changed lines of a text, with some around them. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = useMemo(() => onlyChanges(diffLines(cleanLines(before), cleanLines(after))), [before, after]);
  if (lines.every((line) => line === undefined)) return <p className="faint">Nothing changes.</p>;
  return (
    // biome-ignore lint: a scrolling area needs the focus of the keyboard.
    <pre className="diff" aria-label="Changes" tabIndex={0}>
      {lines.map((line, index) => (
        <span
          key={line?.key ?? `gap ${index}`}
          className={line === undefined ? "diff-gap" : `diff-line diff-${line.kind}`}
        >
          {line === undefined ? "⋯\n" : `${signs[line.kind]} ${line.text}\n`}
        </span>
      ))}
    </pre>
  );
}
