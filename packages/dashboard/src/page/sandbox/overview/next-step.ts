/** Why a sandbox is not ready, in one sentence, and what a person can do about it. Pure. */
import {
  findCondition,
  kindOfTrouble,
  type Pod,
  type Sandbox,
  troubleIn,
  wakeBy,
  whyNotReady,
} from "@agent-sandbox/api";
import { stateOf } from "../../model/sandbox-state.ts";

export type StepLink = "logs" | "yaml" | "images";

export interface NotReady {
  readonly tone: "bad" | "busy" | "sleep" | "neutral";
  readonly title: string;
  /** What the server says. */
  readonly why?: string | undefined;
  readonly step: string;
  /** Where the step begins. */
  readonly link?: StepLink | undefined;
}

interface Step {
  readonly step: string;
  readonly link?: StepLink;
}

/** Undefined: it is ready. */
export function notReady(sandbox: Sandbox, pod?: Pod): NotReady | undefined {
  const { state, why } = stateOf(sandbox);
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  switch (state) {
    case "running":
      return undefined;
    case "stopping":
      return { tone: "neutral", title: "It is being deleted", step: "Its processes end, then its files are removed." };
    case "sleeping":
      return { tone: "sleep", title: "It sleeps", why, step: stepOfSleep(sandbox) };
    case "finished":
      return { tone: "neutral", title: "It has ended", why, ...stepOfReason(ready?.reason) };
    default:
      break;
  }
  const sentence = whyNotReady(sandbox, pod);
  const known = troubleIn(ready?.message) !== undefined || sentence !== ready?.message;
  const next = (known && sentence !== undefined && stepOfTrouble(sentence)) || stepOfReason(ready?.reason);
  const isFailed = state === "failed";
  return {
    tone: isFailed ? "bad" : "busy",
    title: isFailed ? "It cannot start" : "It is starting",
    why: sentence,
    ...next,
  };
}

function stepOfSleep(sandbox: Sandbox): string {
  return wakeBy(sandbox) === undefined
    ? "Resume it to use it again. Traffic does not wake it."
    : "The next request, command or terminal wakes it. You can also resume it here.";
}

/** The sentences are those of `packages/api/src/trouble`. */
const steps: readonly (readonly [pattern: RegExp, step: Step])[] = [
  [
    /: cannot pull image/,
    { step: "Check the name of the image, and whether the machine can reach its registry.", link: "yaml" },
  ],
  [
    /: cannot use image/,
    { step: "Correct the name of the image, or load the image into this machine.", link: "images" },
  ],
  [/: ran out of memory/, { step: "Raise its memory limit, then restart it.", link: "yaml" }],
  [/: (?:exited with code|CrashLoopBackOff)/, { step: "Read what the container wrote before it ended.", link: "logs" }],
  [
    /(?:configmap|secret|persistentvolumeclaim) "/i,
    { step: "Create the missing object, or remove its use from the spec.", link: "yaml" },
  ],
  [
    /: (?:cannot start|RunContainerError|CreateContainer\w*)/,
    { step: "Correct the command or the volumes of the container.", link: "yaml" },
  ],
];

function stepOfTrouble(sentence: string): Step | undefined {
  const kind = kindOfTrouble(sentence);
  if (kind === "scheduling")
    return { step: "Suspend or delete other sandboxes, or lower what this one requests.", link: "yaml" };
  if (kind === "probe") return { step: "Wait until its readiness probe succeeds, or read its logs.", link: "logs" };
  return steps.find(([pattern]) => pattern.test(sentence))?.[1];
}

const byReason: Readonly<Record<string, Step>> = {
  InvalidConfiguration: { step: "Correct the spec.", link: "yaml" },
  ReconcilerError: { step: "The controller tries again by itself. If it goes on, correct the spec.", link: "yaml" },
  MultiplePods: { step: "Delete all but one of its Pods." },
  PodReplacing: { step: "A new Pod replaces the old one. Wait a moment." },
  SandboxExpired: { step: "Set a later shutdown time to start it again, or delete it." },
  PodSucceeded: { step: "Its process is done. Read its logs, or restart it.", link: "logs" },
  PodFailed: { step: "Read what it wrote before it ended, then restart it.", link: "logs" },
  RestoreFailed: { step: "Set spec.suspendPolicy.fallback to Allow to start it from its files.", link: "yaml" },
  ImageDamaged: { step: "Set spec.suspendPolicy.fallback to Allow to start it from its files.", link: "yaml" },
  ImageMissing: { step: "Set spec.suspendPolicy.fallback to Allow to start it from its files.", link: "yaml" },
  SnapshotNotFound: { step: "Name a snapshot that exists in spec.restoreFrom.", link: "yaml" },
  SnapshotNotReady: { step: "Wait until the snapshot is complete." },
};

function stepOfReason(reason: string | undefined): Step {
  return byReason[reason ?? ""] ?? { step: "This normally takes a moment. There is nothing to do." };
}
