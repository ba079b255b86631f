import { CircleCheck, CircleHelp, CircleMinus } from "lucide-react";
import { Text } from "../../components/text.tsx";
import { RelativeTime } from "../../components/time.tsx";
import { toneOfCondition } from "../../model/condition-tone.ts";
import { useSandbox } from "../sandbox-context.tsx";

const icons = { True: CircleCheck, False: CircleMinus, Unknown: CircleHelp } as const;

export function Conditions() {
  const { sandbox } = useSandbox();
  const conditions = sandbox.status?.conditions ?? [];
  return (
    <section className="card" aria-labelledby="conditions-title">
      <header className="card-head">
        <h2 id="conditions-title">Conditions</h2>
      </header>
      <ul className="conditions">
        {conditions.map(({ type, status, reason, message, lastTransitionTime }) => {
          const Icon = icons[status] ?? CircleHelp;
          return (
            <li key={type}>
              <p className="condition-line">
                <Icon size={15} className={`condition-${toneOfCondition({ type, status })}`} aria-hidden />
                <Text of={type} className="strong" />
                <span className="soft">{status}</span>
                <Text of={reason} className="faint small" />
                <span className="condition-time faint small">
                  <RelativeTime at={lastTransitionTime} />
                </span>
              </p>
              {message !== "" && (
                <p className="condition-message">
                  <Text of={message} />
                </p>
              )}
            </li>
          );
        })}
        {conditions.length === 0 && <li className="faint">The controller has not reported yet</li>}
      </ul>
    </section>
  );
}
