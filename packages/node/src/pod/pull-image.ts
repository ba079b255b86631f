import type { Pod } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { isReason } from "@agent-sandbox/kube";
import { loginsFrom, type RegistryLogins } from "../image/credentials.ts";
import { builtInImages, type Image, type PullPolicy, type ResolveOptions } from "../image/image-store.ts";
import { secrets } from "../resources.ts";
import type { Effects, PodEvent } from "./effects.ts";
import type { Machine } from "./machine.ts";
import { memberNamed } from "./members.ts";
import { pullTask } from "./plan-containers.ts";
import type { PodRecord } from "./record.ts";

/** Finds or pulls a container's image in the background. */
export async function pullImage(effects: Effects, pod: Pod, { uid }: PodRecord, name: string): Promise<void> {
  const { image = "", imagePullPolicy } = memberNamed(pod, name)?.container ?? {};
  const wanted = { image, policy: imagePullPolicy as PullPolicy | undefined, container: name };
  await effects.tasks.begin(uid, pullTask(name), (signal) => ensureImage(effects, pod, wanted, signal));
}

/** The image id that a finished pull returned. */
export function pulledImage({ tasks }: Pick<Effects, "tasks">, uid: string, task: string): string | undefined {
  const state = tasks.of(uid)[task];
  return state?.state === "done" ? state.result : undefined;
}

export interface WantedImage {
  readonly image: string;
  readonly policy: PullPolicy | undefined;
  /** Absent for a volume. */
  readonly container?: string;
}

/** Finds or pulls an image with the credentials of the Pod's imagePullSecrets. Returns its id. */
export async function ensureImage(
  { machine, recordEvent, client }: Effects,
  pod: Pod,
  { image, policy, container }: WantedImage,
  signal: AbortSignal,
): Promise<string> {
  const own = container === undefined ? {} : { container };
  const pulled = (text: string): PodEvent => ({ reason: "Pulled", text, ...own });
  const options = { logins: await loginsOf(client, pod), namespace: pod.metadata?.namespace, signal };
  // Built-in images cannot be pulled.
  const isHere =
    policy !== "Always" || builtInImages.includes(image) ? await findHere(machine, image, options) : undefined;
  if (isHere !== undefined) {
    recordEvent(pod, pulled(`Container image "${image}" already present on machine`));
    return isHere.id;
  }
  const since = machine.now();
  if (policy !== "Never") recordEvent(pod, { reason: "Pulling", text: `Pulling image "${image}"`, ...own });
  const { id } = await machine.images.resolve(image, { ...options, policy });
  recordEvent(pod, pulled(`Successfully pulled image "${image}" in ${machine.now() - since}ms`));
  return id;
}

function findHere({ images }: Machine, image: string, options: ResolveOptions): Promise<Image | undefined> {
  return images.resolve(image, { ...options, policy: "Never" }).catch(() => undefined);
}

/** Like the kubelet, ignores missing Secrets: the registry decides whether the pull needs credentials. */
async function loginsOf(client: Client, { metadata, spec }: Pod): Promise<RegistryLogins> {
  const namespace = metadata?.namespace ?? "";
  const names = (spec?.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);
  const found = await Promise.all(
    names.map((name) =>
      client.get(secrets, { namespace, name }).catch((error: unknown) => {
        if (isReason(error, "NotFound")) return undefined;
        throw error;
      }),
    ),
  );
  return loginsFrom(found.filter((secret) => secret !== undefined));
}
