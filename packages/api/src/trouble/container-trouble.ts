import type { ContainerStatus, Pod } from "../kubernetes.ts";
import { findCondition } from "../primitives/condition.ts";
import { compareTimes } from "../primitives/time.ts";
import { oneLine } from "./one-line.ts";
import type { PodTrouble } from "./pod-trouble.ts";

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;
type Waiting = NonNullable<NonNullable<ContainerStatus["state"]>["waiting"]>;
type PodPart = Pick<Pod, "spec" | "status">;

/** Names of images and containers in a sentence. Longer ones are not valid. */
const longestName = 256;

/** Why one container does not run or is not ready; undefined: it is, or it is starting normally. */
export function containerTrouble(pod: PodPart, status: ContainerStatus, role: string): PodTrouble | undefined {
  const who = `${role} "${oneLine(status.name, longestName)}"`;
  const { waiting, terminated, running } = status.state ?? {};
  const last = status.lastState?.terminated;
  if (waiting !== undefined) return waitingTrouble(who, status, waiting);
  if (terminated !== undefined) return endOf(who, terminated, { isRestarted: isRestarted(pod, terminated, role) });
  const isBackAgain = running !== undefined && !status.ready && last !== undefined && !wasReadySince(pod, running);
  return isBackAgain ? endOf(who, last, { isRestarted: true }) : undefined;
}

function waitingTrouble(who: string, status: ContainerStatus, waiting: Waiting): PodTrouble | undefined {
  const { reason = "", message = "" } = waiting;
  const last = status.lastState?.terminated;
  const image = status.image ? ` "${oneLine(status.image, longestName)}"` : "";
  switch (reason) {
    case "":
    case "ContainerCreating":
    case "PodInitializing":
      // The kubelet gives no message. The box's node says what all containers of the Pod wait for.
      return message === "" ? undefined : fault(reason, `${who}: cannot start`, message);
    case "ErrImagePull":
    case "ImagePullBackOff":
      return fault(reason, `${who}: cannot pull image${image}`, imageDetail(message));
    case "ErrImageNeverPull":
    case "InvalidImageName":
    case "ImageInspectError":
    case "RegistryUnavailable":
      return fault(reason, `${who}: cannot use image${image}`, imageDetail(message));
    case "CrashLoopBackOff":
    case "RunContainerError":
      // The kubelet alternates between them. Its message contains the delay, which grows.
      if (last !== undefined) return { ...endOf(who, last, { isRestarted: true }), reason };
      return fault(reason, `${who}: ${reason}`, reason === "CrashLoopBackOff" ? "" : message);
    default:
      return fault(reason, `${who}: ${oneLine(reason, longestName)}`, message);
  }
}

/** How messages of the kubelet, container runtimes and the box's node begin, in this order. They repeat the image, which the cause names. */
const imageStarts: readonly (readonly [start: RegExp, instead: string])[] = [
  // Only ImagePullBackOff has it. The kubelet alternates between it and ErrImagePull, and the sentence must stay the same.
  [/^Back-off pulling image "[^"]*"(?:: )?/, ""],
  [/^ErrImagePull: /, ""],
  [/^Failed to inspect image "[^"]*": /, ""],
  [/^Failed to apply default image tag "[^"]*": /, ""],
  [/^couldn't parse image (?:name|reference) "[^"]*": /, ""],
  [/^rpc error: code = \w+ desc = /, ""],
  [/^failed to pull and unpack image "[^"]*": /, ""],
  [/^failed to resolve reference "([^"]*)": (?:\1: )?/, ""],
  [/^Container image "[^"]*" is not present/, "it is not present"],
  [/^(?:Cannot (?:pull|use) image|Invalid image reference) "[^"]*": /, ""],
];

function imageDetail(message: string): string {
  return imageStarts.reduce((text, [start, instead]) => text.replace(start, instead), message);
}

/**
 * The same while the container waits for its restart and after it: a sentence that changed each time would be a write each time. The
 * message that the container left (`terminationMessagePath`) is not repeated: it can be different each time.
 */
function endOf(
  who: string,
  { exitCode, reason = "Error" }: Terminated,
  { isRestarted }: { readonly isRestarted: boolean },
): PodTrouble {
  const why = oneLine(reason, longestName);
  const end = reason === "OOMKilled" ? `ran out of memory (${why}, exit code ${exitCode})` : exited(exitCode, why);
  const cause = `${who}: ${end}${isRestarted ? " and is restarted" : ""}`;
  return { reason, cause, isFault: isRestarted || exitCode !== 0 };
}

function exited(exitCode: number, reason: string): string {
  return `exited with code ${exitCode} (${reason})`;
}

function isRestarted({ spec, status }: PodPart, { exitCode }: Terminated, role: string): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  if (role !== "container" && exitCode === 0) return false;
  const policy = spec?.restartPolicy ?? "Always";
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

/** Whether the Pod was ready after the container started: then it is not ready for a reason that came later, such as a probe. */
function wasReadySince({ status }: PodPart, { startedAt }: { readonly startedAt?: string | undefined }): boolean {
  const changed = findCondition(status?.conditions, "Ready")?.lastTransitionTime;
  return typeof changed === "string" && startedAt !== undefined && compareTimes(changed, startedAt) === 1;
}

function fault(reason: string, cause: string, detail: string): PodTrouble {
  return { reason, cause, ...(detail !== "" && { detail }), isFault: true };
}
