/** Why it is not ready, what happened, the conditions and the containers. */
import { useSandbox } from "../sandbox-context.tsx";
import { Conditions } from "./conditions.tsx";
import { Containers } from "./containers.tsx";
import { notReady } from "./next-step.ts";
import { Reason } from "./reason.tsx";
import { Timeline } from "./timeline-list.tsx";

export function OverviewView() {
  const { sandbox, pod } = useSandbox();
  const problem = notReady(sandbox, pod);
  return (
    <>
      {problem !== undefined && <Reason problem={problem} />}
      <div className="overview-columns">
        <Timeline />
        <div className="overview-side">
          <Containers />
          <Conditions />
        </div>
      </div>
    </>
  );
}
