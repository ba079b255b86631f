import type { MachineCheck, MachineReport } from "@agent-sandbox/api";
import { Badge, type Tone } from "../components/badge.tsx";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";

const states: Readonly<Record<MachineCheck["state"], readonly [title: string, tone: Tone]>> = {
  missing: ["Missing", "bad"],
  lacking: ["Limited", "warn"],
  ok: ["OK", "good"],
};
const order: readonly MachineCheck["state"][] = ["missing", "lacking", "ok"];

/** The table of `agent-sandbox doctor`: what needs attention first. */
export function Checks({ report }: { readonly report: MachineReport }) {
  const checks = report.checks.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <Section
      title="Checks"
      aside={
        <span className="faint small">
          as in <code>agent-sandbox doctor</code>, <RelativeTime at={report.checkedAt} suffix=" ago" />
        </span>
      }
    >
      <table className="checks">
        <thead>
          <tr>
            <th scope="col">Check</th>
            <th scope="col">State</th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {checks.map(({ name, state, detail, remedy }) => {
            const [title, tone] = states[state];
            return (
              <tr key={name}>
                <th scope="row">
                  <Text of={name} />
                </th>
                <td>
                  <Badge tone={tone}>{title}</Badge>
                </td>
                <td>
                  <Text of={detail} />
                  {remedy !== undefined && (
                    <p className="remedy">
                      <strong>To do:</strong> <Text of={remedy} />
                    </p>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}
