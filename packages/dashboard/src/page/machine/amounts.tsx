import type { MachineReport } from "@agent-sandbox/api";
import { Facts } from "../components/facts.tsx";
import { Meter } from "../components/meter.tsx";
import { Section } from "../components/section.tsx";
import { shownAmounts } from "../model/machine-amounts.ts";

/** What is in use of what there may be, as bars, and the other limits of the box. */
export function Amounts({ report }: { readonly report: MachineReport }) {
  const amounts = shownAmounts(report);
  const limits = amounts.filter(({ used }) => used === undefined);
  return (
    <Section title="Disk and limits">
      <ul className="amounts amounts-wide">
        {amounts.map(
          ({ name, title, used, most, share }) =>
            used !== undefined && (
              <li key={name}>
                <span className="amount-line">
                  <span>{title}</span>
                  <span className="soft">{most === undefined ? used : `${used} of ${most}`}</span>
                </span>
                <Meter share={share} />
              </li>
            ),
        )}
      </ul>
      <div className="limits">
        <Facts facts={limits.map(({ title, most }) => ({ title, value: most }))} />
      </div>
    </Section>
  );
}
