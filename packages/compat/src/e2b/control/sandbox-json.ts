import { type Pod, parseQuantity, type Sandbox, sleepReason } from "@agent-sandbox/api";
import { annotationOf, templateAnnotation } from "../../cluster/compat-annotations.ts";
import { deadlineOf, lifetimeOf } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { metadataOf } from "../../cluster/metadata.ts";
import { envdVersion } from "../version.ts";

/** Required by the clients, and without meaning. */
export const clientID = "6532622b";

/** For sandboxes without a deadline. A later year overflows when Python converts it to another time zone. */
const endless = "2099-12-31T23:59:59Z";

const mebi = 2n ** 20n;
const nano = 10n ** 9n;

export function isPaused({ sandbox }: Pick<Machine, "sandbox">): boolean {
  return sandbox !== undefined && sleepReason(sandbox) !== undefined;
}

export function templateOf({ claim, sandbox }: Machine): string {
  return annotationOf(claim, templateAnnotation) ?? claim?.spec.warmPoolRef.name ?? sandbox?.metadata.name ?? "";
}

/** What lists and details have in common. */
export function listedSandbox(machine: Machine): Readonly<Record<string, unknown>> {
  const { claim, sandbox, name } = machine;
  const { creationTimestamp = "" } = (claim ?? sandbox)?.metadata ?? {};
  const template = templateOf(machine);
  return {
    sandboxID: name,
    templateID: template,
    alias: template,
    clientID,
    startedAt: creationTimestamp,
    endAt: isPaused(machine) ? endless : (deadlineOf(machine) ?? endless),
    state: isPaused(machine) ? "paused" : "running",
    metadata: claim === undefined ? {} : metadataOf(claim),
    envdVersion,
    ...resourcesOf(sandbox),
  };
}

export function lifecycleJson(machine: Machine): object {
  const { autoResume, onTimeout } = lifetimeOf(machine);
  return { autoResume, onTimeout };
}

/** Whole processors and mebibytes, from the limits of the containers. */
export function resourcesOf(sandbox: Sandbox | undefined): {
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
} {
  const containers: NonNullable<Pod["spec"]>["containers"] = sandbox?.spec.podTemplate.spec.containers ?? [];
  const sum = (name: string): bigint =>
    containers.reduce((total, { resources }) => total + nanosOf(resources?.limits?.[name]), 0n);
  return {
    cpuCount: Math.max(1, roundedUp(sum("cpu"), nano)),
    memoryMB: Math.max(128, roundedUp(sum("memory"), nano * mebi)),
    diskSizeMB: roundedUp(sum("ephemeral-storage"), nano * mebi),
  };
}

function nanosOf(text: string | undefined): bigint {
  const quantity = parseQuantity(text ?? "0");
  return "error" in quantity ? 0n : quantity.nanos;
}

const roundedUp = (amount: bigint, unit: bigint): number => Number((amount + unit - 1n) / unit);
