/** One claim: its sandbox, where that came from, and when the claim ends. */
import { launchTypeLabel, type SandboxClaim } from "@agent-sandbox/api";
import { ArrowRight, Ticket } from "lucide-react";
import { useLocation } from "wouter";
import { Button } from "../components/button.tsx";
import { Conditions } from "../components/conditions.tsx";
import { DeleteButton } from "../components/delete-button.tsx";
import { Facts } from "../components/facts.tsx";
import { formatDuration } from "../components/format.ts";
import { ObjectLink } from "../components/object-link.tsx";
import { ObjectPage } from "../components/object-page.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { Text } from "../components/text.tsx";
import { Time } from "../components/time.tsx";
import { YamlPreview } from "../create/yaml-preview.tsx";
import { sandboxClaims, sandboxes } from "../data/resources.ts";
import { useList, useObject } from "../data/use-data.ts";
import { ObjectEvents } from "../events/object-events.tsx";
import { claimState } from "../model/claim-state.ts";
import { hrefIn } from "../model/links.ts";
import { ClaimBadge } from "./claims-page.tsx";

interface PageProps {
  readonly namespace: string;
  readonly name: string;
}

export default function ClaimPage({ namespace, name }: PageProps) {
  const found = useObject(sandboxClaims, { namespace, name });
  const [, navigate] = useLocation();
  return (
    <ObjectPage
      noun="claim"
      icon={Ticket}
      list={{ href: "/claims", title: "Claims" }}
      namespace={namespace}
      name={name}
      found={found}
      badge={(claim) => <ClaimBadge claim={claim} />}
      actions={(claim) => (
        <>
          <DeleteButton resource={sandboxClaims} object={claim} noun="claim" next="/claims">
            Its sandbox is deleted with it, with all its files.
          </DeleteButton>
          {claim.status?.sandbox?.name && (
            <Button
              variant="primary"
              icon={ArrowRight}
              onClick={() => navigate(hrefIn("sandboxes", { namespace, name: claim.status?.sandbox?.name }))}
            >
              Open sandbox
            </Button>
          )}
        </>
      )}
    >
      {(claim) => <Content claim={claim} />}
    </ObjectPage>
  );
}

function Content({ claim }: { readonly claim: SandboxClaim }) {
  const { metadata, spec, status } = claim;
  const { namespace } = metadata;
  const { items } = useList(sandboxes, namespace);
  const sandbox = items.find((one) => one.metadata.name === status?.sandbox?.name);
  const launch = sandbox?.metadata.labels?.[launchTypeLabel];
  const { shutdownTime, ttlSecondsAfterFinished, shutdownPolicy } = spec.lifecycle ?? {};
  return (
    <>
      <section className="card" aria-label="Summary">
        <Facts
          facts={[
            {
              title: "Sandbox",
              value: (
                <span className="inline">
                  <ObjectLink folder="sandboxes" namespace={namespace} name={status?.sandbox?.name} />
                  {sandbox !== undefined && <StateBadge sandbox={sandbox} />}
                </span>
              ),
            },
            {
              title: "Pool",
              value: <ObjectLink folder="pools" namespace={namespace} name={spec.warmPoolRef.name} />,
            },
            {
              title: "Start",
              value: launch === "warm" ? "from the pool" : launch === "cold" ? "a new sandbox" : undefined,
            },
            { title: "Why", value: claimState(claim).why && <Text of={claimState(claim).why} /> },
            { title: "Expires at", value: shutdownTime && <Time at={shutdownTime} /> },
            {
              title: "Expires after its sandbox finished",
              value: ttlSecondsAfterFinished === undefined ? undefined : formatDuration(ttlSecondsAfterFinished * 1000),
            },
            {
              title: "When it expires",
              value:
                spec.lifecycle && (shutdownPolicy?.startsWith("Delete") ? "it is deleted" : "its sandbox is deleted"),
            },
            {
              title: "Environment",
              value: spec.env && <Text of={spec.env.map(({ name }) => name).join(", ")} className="mono" />,
            },
          ]}
        />
      </section>
      <Conditions conditions={status?.conditions} />
      <ObjectEvents object={claim} />
      <YamlPreview objects={[claim]} />
    </>
  );
}
