import { CircleAlert, CircleCheckBig, Clock, Moon } from "lucide-react";
import { Link } from "wouter";
import { Button } from "../../components/button.tsx";
import { Text } from "../../components/text.tsx";
import { useSandbox } from "../sandbox-context.tsx";
import type { NotReady } from "./next-step.ts";

const icons = { bad: CircleAlert, busy: Clock, sleep: Moon, neutral: CircleCheckBig } as const;

/** One sentence from the server, and one that says what to do. */
export function Reason({ problem: { tone, title, why, step, link } }: { readonly problem: NotReady }) {
  const { open } = useSandbox();
  const Icon = icons[tone];
  return (
    <section className={`reason reason-${tone}`} aria-label="Why it is not ready">
      <Icon size={20} aria-hidden />
      <div>
        <p className="reason-title">
          {title}
          {why !== undefined && <Text of={`: ${why}`} className="reason-why" />}
        </p>
        <p className="reason-step">{step}</p>
      </div>
      {link === "logs" && <Button onClick={() => open("logs")}>Open logs</Button>}
      {link === "yaml" && <Button onClick={() => open("yaml")}>Edit YAML</Button>}
      {link === "images" && (
        <Link href="/images" className="button button-secondary">
          Images
        </Link>
      )}
    </section>
  );
}
