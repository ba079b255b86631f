/** What a person wants to know first, as a row of titles and values. */
import { type Sandbox, type SandboxClaim } from "@agent-sandbox/api";
import { type ReactNode, useMemo } from "react";
import { Link } from "wouter";
import { cleanText } from "../../components/clean-text.ts";
import { formatDuration } from "../../components/format.ts";
import { LastUsed } from "../../components/last-used.tsx";
import { Text } from "../../components/text.tsx";
import { RelativeTime, useNow } from "../../components/time.tsx";
import { sandboxClaims, sandboxWarmPools } from "../../data/resources.ts";
import { useCan, useList, useObject } from "../../data/use-data.ts";
import { lastUsed } from "../../model/last-used.ts";
import { imageOf } from "../../model/sandbox-state.ts";
import { shutdownTime } from "../actions/lifetime.ts";
import { originLinks, ownerClaim } from "../origin.ts";
import { useSandbox } from "../sandbox-context.tsx";
import { runtimeOf } from "./runtime-name.ts";

export function useClaim(sandbox: Sandbox): SandboxClaim | undefined {
  const { namespace = "" } = sandbox.metadata;
  const owner = ownerClaim(sandbox);
  const canRead = useCan("watch", sandboxClaims, { namespace });
  const resource = owner !== undefined && canRead ? sandboxClaims : undefined;
  const { object } = useObject(resource, { namespace, name: owner?.name ?? "" });
  return object?.metadata.uid === owner?.uid ? object : undefined;
}

export function Facts() {
  const { sandbox, pod } = useSandbox();
  const { namespace = "" } = sandbox.metadata;
  const claim = useClaim(sandbox);
  const canPools = useCan("watch", sandboxWarmPools, { namespace });
  const { items: pools } = useList(canPools ? sandboxWarmPools : undefined, namespace);
  const origins = useMemo(() => originLinks(sandbox, claim, pools), [sandbox, claim, pools]);
  const { status, spec, metadata } = sandbox;
  const images = [...new Set((spec.podTemplate?.spec?.containers ?? []).map(({ image = "" }) => image))];
  const ends = shutdownTime(sandbox, claim);
  const epoch = status?.suspension?.epoch ?? 0;
  return (
    <dl className="sandbox-facts card">
      <Fact title={images.length > 1 ? "Images" : "Image"}>
        <span className="mono" title={cleanText(images.join(", "))}>
          <Text of={images.join(", ") || imageOf(sandbox)} />
        </span>
      </Fact>
      <Fact title="Runtime">
        <Text of={runtimeOf(sandbox, pod)} />
      </Fact>
      <Fact title="Age">
        <RelativeTime at={metadata.creationTimestamp} />
      </Fact>
      {lastUsed(sandbox) !== undefined && (
        <Fact title="Last used">
          <LastUsed sandbox={sandbox} suffix=" ago" />
        </Fact>
      )}
      {origins.map(({ kind, name, href }) => (
        <Fact key={kind} title={`${kind[0]?.toUpperCase()}${kind.slice(1)}`}>
          <Link href={href}>
            <Text of={name} />
          </Link>
        </Fact>
      ))}
      <Fact title="Address">
        <span className="mono">
          <Text of={status?.podIPs?.[0] ?? pod?.status?.podIP ?? "–"} />
        </span>
      </Fact>
      <Fact title="Node">
        <Text of={status?.nodeName ?? pod?.spec?.nodeName ?? "–"} />
      </Fact>
      <Fact title="Idle">
        <Text of={idleText(sandbox)} />
      </Fact>
      {ends !== undefined && (
        <Fact title="Ends in">
          <Remaining until={ends} />
        </Fact>
      )}
      {epoch > 0 && <Fact title="Epoch">{epoch}</Fact>}
    </dl>
  );
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Remaining({ until }: { readonly until: string }) {
  const left = Date.parse(until) - useNow();
  return <time dateTime={until}>{left > 0 ? formatDuration(left) : "now"}</time>;
}

function idleText({ spec: { idlePolicy } }: Sandbox): string {
  const { suspendAfterSeconds: sleep, deleteAfterSeconds: end } = idlePolicy ?? {};
  if (sleep !== undefined) return `sleeps after ${formatDuration(sleep * 1000)}`;
  return end === undefined ? "stays awake" : `deleted after ${formatDuration(end * 1000)}`;
}
