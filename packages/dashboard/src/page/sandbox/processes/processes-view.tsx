/** Two lists, which differ: what was started through the runtime API, and everything that runs. */
import { useRef, useState } from "react";
import { cleanText } from "../../components/clean-text.ts";
import { RuntimeView } from "../runtime/runtime-view.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import { AllProcesses } from "./all-processes.tsx";
import { StartedProcesses } from "./started-processes.tsx";

type Which = "started" | "all";

export default function ProcessesView() {
  const { name = "my-sandbox", namespace = "default" } = useSandbox().sandbox.metadata;
  const [which, setWhich] = useState<Which>("started");
  // Each list renders its own bar. After a choice, the select in the new bar gets the focus.
  const hasChosen = useRef(false);
  const List = which === "started" ? StartedProcesses : AllProcesses;
  return (
    <RuntimeView command={`agent-sandbox exec ${cleanText(name)} -n ${cleanText(namespace)} -- ps`}>
      <div className="stack">
        <List>
          <select
            className="input"
            aria-label="Which processes"
            value={which}
            autoFocus={hasChosen.current}
            onChange={({ target }) => {
              hasChosen.current = true;
              setWhich(target.value as Which);
            }}
          >
            <option value="started">Started through the runtime API</option>
            <option value="all">All processes of the sandbox</option>
          </select>
        </List>
      </div>
    </RuntimeView>
  );
}
