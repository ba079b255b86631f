/** When a sandbox was last used. Recorded at intervals, so it may have been used since. */
import type { Sandbox } from "@agent-sandbox/api";
import { lastUsed } from "../model/last-used.ts";
import { formatDuration } from "./format.ts";
import { RelativeTime } from "./time.tsx";

export function LastUsed({ sandbox, suffix }: { readonly sandbox: Sandbox; readonly suffix?: string }) {
  const found = lastUsed(sandbox);
  if (found === undefined) return <span className="faint">–</span>;
  const note = `Use is recorded at most once in ${formatDuration(found.everyMs)}, a quarter of the idle time`;
  return (
    <>
      ≤&nbsp;
      <RelativeTime at={found.at} note={note} {...(suffix !== undefined && { suffix })} />
    </>
  );
}
