/** Says whether what the page shows is current: it watches the list that almost every page shows. */

import { Time } from "../components/time.tsx";
import { sandboxes } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { useScope } from "./scope.tsx";

export function ConnectionStatus() {
  const { namespace } = useScope();
  const { state, since } = useList(sandboxes, namespace);
  if (state === "stale") {
    return (
      <span className="connection connection-stale" role="status">
        <span className="dot" aria-hidden />
        Reconnecting: data of <Time at={since} />
      </span>
    );
  }
  return (
    <span className="connection" role="status">
      <span className="dot" aria-hidden />
      {state === "live" ? "Live" : state === "refused" ? "No access" : "Loading"}
    </span>
  );
}
