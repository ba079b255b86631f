/** The members of a pool: ready, starting and missing. Out-of-date ready members are hatched in the text below. */

import type { SandboxWarmPool } from "@agent-sandbox/api";
import { poolState } from "../model/pool-state.ts";

export function PoolBar({ pool }: { readonly pool: SandboxWarmPool }) {
  const { ready, starting, missing, wanted, outdated } = poolState(pool);
  const total = Math.max(1, ready + starting + missing);
  const label = `${ready} ready, ${starting} starting, ${wanted} wanted, ${outdated} out of date`;
  const part = (count: number): object => ({ flexGrow: count / total });
  return (
    <div className="pool-bar" role="img" aria-label={label} title={label}>
      {ready - Math.min(outdated, ready) > 0 && (
        <span className="pool-ready" style={part(ready - Math.min(outdated, ready))} />
      )}
      {Math.min(outdated, ready) > 0 && <span className="pool-outdated" style={part(Math.min(outdated, ready))} />}
      {starting > 0 && <span className="pool-starting" style={part(starting)} />}
      {missing > 0 && <span className="pool-missing" style={part(missing)} />}
    </div>
  );
}
