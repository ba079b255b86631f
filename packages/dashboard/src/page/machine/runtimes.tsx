import type { MachineReport, MachineRuntime } from "@agent-sandbox/api";
import { Badge } from "../components/badge.tsx";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";

const uses: Readonly<Record<MachineRuntime["use"], string>> = {
  default: "Default",
  allowed: "Allowed",
  listed: "Only where the Namespace lists it",
};

/** The runtimes that work, and what a suspension with each of them keeps. */
export function Runtimes({ report }: { readonly report: MachineReport }) {
  return (
    <Section title="Runtimes">
      <ul className="rows">
        {report.runtimes.map((runtime) => (
          <li key={runtime.name}>
            <span className="row-head">
              <Text of={runtime.name} className="strong" />
              <Badge tone={runtime.use === "default" ? "accent" : "neutral"}>{uses[runtime.use]}</Badge>
            </span>
            <p className="row-text">
              {runtime.depth === "Memory"
                ? "Suspends with memory and files (depth Memory)"
                : "Suspends with files only (depth Filesystem)"}
              {runtime.kernel !== undefined && " · "}
              {runtime.kernel === "own" && "each sandbox has its own kernel"}
              {runtime.kernel === "shared" && <span className="why-bad">sandboxes share the machine's kernel</span>}
            </p>
          </li>
        ))}
      </ul>
      {report.runtimes.length === 0 && <p className="section-foot faint">No runtime works.</p>}
    </Section>
  );
}
