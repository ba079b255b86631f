/** Marks data that is no longer current because the connection to the server is lost. */
import type { Snapshot } from "../data/list-store.ts";
import { Time } from "./time.tsx";

export function StaleNote({ state, since }: Pick<Snapshot<unknown>, "state" | "since">) {
  if (state !== "stale") return null;
  return (
    <span className="stale-note" role="status">
      <span className="dot" aria-hidden />
      Not current: data of <Time at={since} />
    </span>
  );
}
