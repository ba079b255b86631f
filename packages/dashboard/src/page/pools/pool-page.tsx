/** One warm pool: its members live, its size, its template and the claims on it. */
import type { SandboxWarmPool } from "@agent-sandbox/api";
import { Layers } from "lucide-react";
import { useMemo } from "react";
import { Badge } from "../components/badge.tsx";
import { Conditions } from "../components/conditions.tsx";
import { DeleteButton } from "../components/delete-button.tsx";
import { Facts } from "../components/facts.tsx";
import { ObjectLink } from "../components/object-link.tsx";
import { ObjectPage } from "../components/object-page.tsx";
import { Section } from "../components/section.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { NewClaimButton } from "../create/create-buttons.tsx";
import { YamlPreview } from "../create/yaml-preview.tsx";
import { sandboxClaims, sandboxes, sandboxWarmPools } from "../data/resources.ts";
import { useList, useObject } from "../data/use-data.ts";
import { ObjectEvents } from "../events/object-events.tsx";
import { membersOf, placesOf } from "../model/pool-members.ts";
import { lastRollout, poolState } from "../model/pool-state.ts";
import { SandboxTable } from "../sandboxes/sandbox-table.tsx";
import { PoolPlaces } from "./pool-places.tsx";
import { ScalePool } from "./scale-pool.tsx";

interface PageProps {
  readonly namespace: string;
  readonly name: string;
}

export default function PoolPage({ namespace, name }: PageProps) {
  const found = useObject(sandboxWarmPools, { namespace, name });
  return (
    <ObjectPage
      noun="pool"
      icon={Layers}
      list={{ href: "/pools", title: "Pools" }}
      namespace={namespace}
      name={name}
      found={found}
      badge={(pool) => <PoolBadge pool={pool} />}
      actions={(pool) => (
        <>
          <DeleteButton resource={sandboxWarmPools} object={pool} noun="pool" next="/pools">
            Its members are deleted. Sandboxes that were claimed stay.
          </DeleteButton>
          <NewClaimButton initial={{ pool: name, namespace, name: `${name}-claim` }} />
        </>
      )}
    >
      {(pool) => <Content pool={pool} />}
    </ObjectPage>
  );
}

function PoolBadge({ pool }: { readonly pool: SandboxWarmPool }) {
  const { ready, wanted } = poolState(pool);
  return (
    <Badge tone={ready >= wanted ? "good" : "busy"} hasDot>
      {ready} of {wanted} ready
    </Badge>
  );
}

function Content({ pool }: { readonly pool: SandboxWarmPool }) {
  const { metadata, spec, status } = pool;
  const { namespace, name } = metadata;
  const template = spec.sandboxTemplateRef.name;
  const { items } = useList(sandboxes, namespace);
  const claims = useList(sandboxClaims, namespace).items.filter((claim) => claim.spec.warmPoolRef.name === name);
  const members = useMemo(() => membersOf(pool, items), [pool, items]);
  const places = useMemo(() => placesOf(pool, members), [pool, members]);
  const rollout = useMemo(() => lastRollout(template, namespace, items), [template, namespace, items]);
  const { outdated, why } = poolState(pool);
  return (
    <>
      <Section title="Members" aside={<ScalePool pool={pool} />}>
        <PoolPlaces places={places} />
        {why !== undefined && (
          <p className="pool-why soft">
            <Text of={why} />
          </p>
        )}
        <Facts
          facts={[
            { title: "Template", value: <ObjectLink folder="templates" namespace={namespace} name={template} /> },
            { title: "Last rollout", value: <RelativeTime at={rollout} suffix=" ago" /> },
            { title: "Out of date", value: String(outdated) },
            { title: "After a change of the template", value: updateTitle(spec.updateStrategy?.type) },
            { title: "Claims", value: String(claims.length) },
          ]}
        />
      </Section>
      <SandboxTable title="Sandboxes" items={members} empty="The pool has no members." />
      <Conditions conditions={status?.conditions} />
      <ObjectEvents object={pool} />
      <YamlPreview objects={[pool]} />
    </>
  );
}

function updateTitle(type: string | undefined): string {
  return type === "Recreate" ? "members are replaced at once" : "members are replaced when they are claimed";
}
