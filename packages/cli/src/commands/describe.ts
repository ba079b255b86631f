import { type Condition, type Pod, type Sandbox, trackedPodName, troubleIn } from "@agent-sandbox/api";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { fetchJson } from "../client/discovery.ts";
import { listEvents } from "../client/events.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { formatAge } from "../client/format-amounts.ts";
import { runtimeOf } from "../client/pod-runtimes.ts";
import { troubleOf } from "../client/pod-trouble.ts";
import { printable } from "../client/printable.ts";
import { podPath, whyAsleep } from "../client/sandbox-pod.ts";
import { describeSuspension } from "../client/sandbox-state.ts";
import { formatEvents } from "./events.ts";

/** Prints what a person wants to know about sandboxes: whether they run, why not, what they are made of, and what happened. */
export async function describe(names: readonly string[], options: GlobalOptions): Promise<void> {
  await using connection = await connect(options);
  for (const [index, name] of names.entries()) {
    if (index > 0) console.log();
    const sandbox = await findSandbox(connection, name);
    const pod = await readPod(connection, sandbox);
    console.log(descriptionOf(sandbox, pod, Date.now()));
    const found = await listEvents(connection, [sandbox.metadata.name ?? "", trackedPodName(sandbox), name]).catch(
      () => [],
    );
    console.log(
      found.length === 0 ? "Events: none" : `Events:\n${indented(formatEvents(found.slice(-15), Date.now()))}`,
    );
  }
}

async function readPod({ transport, namespace }: Connection, sandbox: Sandbox): Promise<Pod | undefined> {
  return (await fetchJson(transport, podPath(namespace, trackedPodName(sandbox))).catch(() => undefined)) as
    | Pod
    | undefined;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}

/** One `Name: value` line per fact. */
export function descriptionOf(sandbox: Sandbox, pod: Pod | undefined, now: number): string {
  const { metadata, spec, status } = sandbox;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const containers = spec.podTemplate?.spec?.containers ?? [];
  const why = whyAsleep(sandbox) ?? troubleIn(ready?.message) ?? (pod && troubleOf(pod));
  const suspension = describeSuspension(status?.suspension ?? {});
  const facts: (readonly [string, string | undefined])[] = [
    ["Name", metadata.name],
    ["Namespace", metadata.namespace],
    ["Labels", pairsOf(metadata.labels)],
    ["Age", metadata.creationTimestamp && formatAge(now - Date.parse(metadata.creationTimestamp))],
    ["Claimed by", metadata.ownerReferences?.find(({ kind }) => kind === "SandboxClaim")?.name],
    ["Ready", ready && readyText(ready, why)],
    ["Why", why],
    ["Outdated", status?.conditions?.find(({ type, status: is }) => type === "PodOutdated" && is === "True")?.message],
    ["Mode", spec.operatingMode],
    ["Image", containers.map(({ name, image }) => (containers.length > 1 ? `${name}=${image}` : image)).join(", ")],
    ["Runtime", pod && runtimeOf(pod)],
    ["Pod", pod && `${pod.metadata?.name} (${pod.status?.phase})`],
    [
      "Restarts",
      pod && String((pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0)),
    ],
    ["Addresses", status?.podIPs?.join(", ")],
    [
      "Sleeps",
      spec.idlePolicy?.suspendAfterSeconds === undefined
        ? undefined
        : `after ${spec.idlePolicy.suspendAfterSeconds} s without use`,
    ],
    ["Last sleep", suspension || undefined],
    ["Expires", spec.shutdownTime],
  ];
  const shown = facts.filter((fact): fact is readonly [string, string] => Boolean(fact[1]));
  const width = Math.max(...shown.map(([name]) => name.length)) + 2;
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}${printable(value)}`).join("\n");
}

/** Without the sentence that the line `Why` contains. */
function readyText({ status, reason, message }: Condition, why: string | undefined): string {
  const start = why !== undefined && message.endsWith(`; ${why}`) ? message.slice(0, -why.length - 2) : message;
  return [status, reason && `(${reason})`, status !== "True" && start].filter(Boolean).join(" ");
}

function pairsOf(labels: Readonly<Record<string, string>> | undefined): string | undefined {
  return (
    labels &&
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(", ")
  );
}
