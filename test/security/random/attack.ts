import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import { Random } from "../../../packages/apiserver/test/fuzz/random.ts";
import { pods, type Runtime, type Tenant, type WantedPod } from "../tenant.ts";
import type { World } from "../world.ts";
import { type Action, Attacker, type Outcome } from "./attacker.ts";
import { servedKinds } from "./served-kinds.ts";
import { keepCalling, keepLooking, keepWorking, type Report } from "./watch-victim.ts";

export interface AttackOptions {
  readonly seed: number;
  readonly seconds: number;
}

export interface AttackResult {
  readonly actions: number;
  /** The number of responses with each status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly calls: number;
  readonly looks: number;
  readonly rounds: number;
  /** Each with the last actions before it. */
  readonly violations: readonly string[];
}

/** Concurrent actions: enough to interfere with each other, few enough for two processors. */
const lanes = ["nextRequest", "nextRequest", "nextStream", "nextStream", "nextStream"] as const;
/** A pause between actions, which leaves processor time for the victim and the monitor in this process. */
const pauseMs = 10;
const mostPods = 6;
const mostViolations = 20;
const remembered = 12;
/** On a busy machine the attack goes on until it has tried this much, at most `mostTimes` as long as it was asked to. */
const leastActions = 200;
const mostTimes = 10;

/** Performs random actions as a tenant until the time is up, while the victim and the machine are monitored. */
export async function attack(world: World, tenant: Tenant, { seed, seconds }: AttackOptions): Promise<AttackResult> {
  const kinds = await servedKinds(tenant);
  const statuses = new Map<number, number>();
  const recent: string[] = [];
  const violations: string[] = [];
  const reported = new Set<string>();
  const report: Report = (violation) => {
    if (violations.length < mostViolations && !reported.has(violation))
      violations.push([violation, ...recent.toReversed()].join("\n    after "));
    reported.add(violation);
  };
  const running: { names: string[] } = { names: [] };
  const attackers = new AbortController();
  const watchers = new AbortController();
  const begun = performance.now();
  let actions = 0;
  const isOver = (): boolean => {
    const elapsed = (performance.now() - begun) / (seconds * 1000);
    return elapsed >= mostTimes || (elapsed >= 1 && actions >= leastActions);
  };
  const lane = async (kind: (typeof lanes)[number], number: number): Promise<void> => {
    const attacker = new Attacker(new Random(seed + number), world, tenant, kinds, running);
    while (!attackers.signal.aborted) {
      const action = attacker[kind]();
      recent.push(`${new Date().toISOString()} ${action.what}`);
      if (recent.length > remembered) recent.shift();
      const outcome = await action.run();
      actions++;
      statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1);
      for (const violation of judge(action, outcome, world.alice.secret)) report(violation);
      if (isOver()) attackers.abort();
      await sleep(pauseMs);
    }
  };
  const watching = Promise.all([
    keepCalling(world, watchers.signal, report),
    keepLooking(world, watchers.signal, report),
    keepWorking(world, watchers.signal, report),
  ]);
  await Promise.all([...lanes.map(lane), keepFew(tenant, world.runtimes, running, attackers.signal)]);
  watchers.abort();
  const [calls, looks, rounds] = await watching;
  return { actions, statuses, calls, looks, rounds, violations };
}

/** kube-apiserver answers 500 as well when an object cannot be converted because of what its author wrote into it. */
const failedConversion = '"message":"Cannot convert ';

function judge({ what, isForbidden, isStream }: Action, { status, text }: Outcome, secret: string): string[] {
  const isSuccess = status >= 200 && status < 300;
  return [
    ...(text.includes(secret) ? [`the attacker saw the victim's secret: ${what}`] : []),
    ...(isForbidden && isSuccess ? [`the attacker was allowed (${status}): ${what}`] : []),
    ...(!isStream && status >= 500 && !text.includes(failedConversion)
      ? [`the API server failed (${status} ${text.slice(0, 300)}): ${what}`]
      : []),
    ...(!isStream && status === 0 ? [`the API server did not answer (${text.slice(0, 300)}): ${what}`] : []),
  ];
}

const isRunner = (pod: Pod): boolean => pod.metadata?.name?.startsWith("runner-") ?? false;

/**
 * Deletes the attacker's oldest Pods, because other tests cover exhaustion, and keeps one Pod of each runtime running, so that there is
 * always one to run code in.
 */
async function keepFew(
  tenant: Tenant,
  runtimes: readonly Runtime[],
  running: { names: string[] },
  signal: AbortSignal,
): Promise<void> {
  const { client, namespace } = tenant;
  while (!signal.aborted) {
    const { items } = await client.list(pods, { namespace }).catch(() => ({ items: [] as readonly Pod[] }));
    const live = items.filter(({ status }) => status?.phase === "Running");
    running.names = live.map(({ metadata }) => metadata?.name ?? "");
    for (const runtime of runtimes.filter((each) => !running.names.includes(`runner-${each}`)))
      await tenant.createPod(`runner-${runtime}`, runner(runtime)).catch(() => undefined);
    const others = items.filter((pod) => !isRunner(pod)).toSorted((a, b) => bornAt(a) - bornAt(b));
    for (const { metadata } of others.slice(0, Math.max(0, others.length - mostPods))) {
      const key = { namespace, name: metadata?.name ?? "" };
      await client.delete(pods, key, { gracePeriodSeconds: 0 }).catch(() => undefined);
    }
    await sleep(500);
  }
}

const runner = (runtime: Runtime): WantedPod => ({
  runtime,
  spec: {
    containers: [
      {
        name: "main",
        image: "host",
        command: ["sh", "-c", "trap : TERM; while :; do sleep 60 & wait; done"],
        volumeMounts: ["scratch", "kept"].map((name) => ({ name, mountPath: `/${name}` })),
      },
    ],
    volumes: ["scratch", "kept"].map((name) => ({ name, emptyDir: {} })),
  },
});

const bornAt = ({ metadata }: Pod): number => Date.parse(metadata?.creationTimestamp ?? "");
