/** Warm pools as bars, with their templates. */
import type { SandboxWarmPool } from "@agent-sandbox/api";
import { Layers } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { EmptyState } from "../components/empty-state.tsx";
import { PoolBar } from "../components/pool-bar.tsx";
import { Text } from "../components/text.tsx";
import { RelativeTime } from "../components/time.tsx";
import { keyOf, sandboxes, sandboxWarmPools } from "../data/resources.ts";
import { useList } from "../data/use-data.ts";
import { isShadow, lastRollout, poolState } from "../model/pool-state.ts";
import { useScope } from "../shell/scope.tsx";

const shown = 12;

export function PoolList() {
  const { namespace } = useScope();
  const { items } = useList(sandboxWarmPools, namespace);
  const all = useList(sandboxes, namespace).items;
  const pools = useMemo(
    () => items.filter((pool) => !isShadow(pool)).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    [items],
  );
  const rollouts = useMemo(
    () =>
      new Map(
        pools
          .slice(0, shown)
          .map((pool) => [pool, lastRollout(pool.spec.sandboxTemplateRef.name, pool.metadata.namespace, all)]),
      ),
    [pools, all],
  );
  return (
    <section className="card" aria-labelledby="pools-title">
      <header className="card-head">
        <h2 id="pools-title">Warm pools</h2>
        <Link href="/pools">All pools</Link>
      </header>
      {pools.length === 0 ? (
        <EmptyState icon={Layers} title="No warm pools" command="agent-sandbox apply -f examples/warm-pool.yaml">
          A warm pool keeps sandboxes running, so that a claim gets one at once.
        </EmptyState>
      ) : (
        <ul className="pool-list">
          {pools.slice(0, shown).map((pool) => (
            <PoolItem key={keyOf(pool)} pool={pool} rollout={rollouts.get(pool)} />
          ))}
        </ul>
      )}
    </section>
  );
}

function PoolItem({ pool, rollout }: { readonly pool: SandboxWarmPool; readonly rollout: string | undefined }) {
  const { ready, wanted, outdated } = poolState(pool);
  const { namespace = "", name = "" } = pool.metadata;
  return (
    <li>
      <div className="pool-line">
        <Link href={`/pools/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`} className="strong">
          <Text of={name} />
        </Link>
        <span className="soft">
          {ready} of {wanted} ready
        </span>
      </div>
      <PoolBar pool={pool} />
      <div className="pool-line faint small">
        <span>
          template <Text of={pool.spec.sandboxTemplateRef.name} />
        </span>
        <span>
          {outdated > 0 ? (
            `${outdated} out of date`
          ) : (
            <>
              rollout <RelativeTime at={rollout} suffix=" ago" />
            </>
          )}
        </span>
      </div>
    </li>
  );
}
