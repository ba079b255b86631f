import type { ContainerStatus } from "@agent-sandbox/api";
import { Badge, type Tone } from "../../components/badge.tsx";
import { cleanText } from "../../components/clean-text.ts";
import { Text } from "../../components/text.tsx";
import { RelativeTime } from "../../components/time.tsx";
import { useSandbox } from "../sandbox-context.tsx";

/** The containers of the spec, with what the Pod reports about them. */
export function Containers() {
  const { sandbox, pod } = useSandbox();
  const spec = sandbox.spec.podTemplate?.spec;
  const statuses = [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
  return (
    <section className="card" aria-labelledby="containers-title">
      <header className="card-head">
        <h2 id="containers-title">Containers</h2>
      </header>
      <ul className="containers">
        {[...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name, image, resources, ports }) => {
          const status = statuses.find((one) => one.name === name);
          const limits = Object.entries(resources?.limits ?? {}).map(([what, amount]) => `${what} ${amount}`);
          const declared = (ports ?? []).map(({ containerPort }) => containerPort);
          return (
            <li key={name}>
              <p className="container-line">
                <Text of={name} className="strong" />
                <ContainerState status={status} />
                {(status?.restartCount ?? 0) > 0 && <Badge tone="warn">{status?.restartCount} restarts</Badge>}
              </p>
              <p className="mono soft container-image" title={cleanText(image ?? "")}>
                <Text of={image} />
              </p>
              <p className="faint small">
                <Text
                  of={
                    [...limits, ...(declared.length > 0 ? [`ports ${declared.join(", ")}`] : [])].join(" · ") ||
                    "no limits"
                  }
                />
              </p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function ContainerState({ status }: { readonly status: ContainerStatus | undefined }) {
  const { running, waiting, terminated } = status?.state ?? {};
  const [tone, text]: readonly [Tone, string] =
    running !== undefined
      ? ["good", "Running"]
      : waiting !== undefined
        ? ["busy", waiting.reason ?? "Waiting"]
        : terminated !== undefined
          ? [terminated.exitCode === 0 ? "neutral" : "bad", `Exit ${terminated.exitCode}`]
          : ["neutral", "No process"];
  return (
    <>
      <Badge tone={tone} hasDot>
        <Text of={text} />
      </Badge>
      {running?.startedAt !== undefined && (
        <span className="faint small">
          <RelativeTime at={running.startedAt} />
        </span>
      )}
    </>
  );
}
