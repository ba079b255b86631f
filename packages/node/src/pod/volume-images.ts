import type { Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { builtInImages, type PullPolicy } from "../image/image-store.ts";
import type { Effects } from "./effects.ts";
import { ensureImage, pulledImage } from "./pull-image.ts";
import type { PodRecord } from "./record.ts";

/** An image volume (KEP-4639). */
interface ShownImage {
  readonly name: string;
  readonly image?: { readonly reference?: string; readonly pullPolicy?: PullPolicy };
}

const taskOf = (volume: string): string => `pull-volume:${volume}`;

/**
 * The image ids of a Pod's image volumes, by volume. Images are pulled in the background with the Pod's imagePullSecrets;
 * returns undefined until all are present. Throws when a pull failed; the next call tries again. A mounted volume keeps its
 * image, even if the name resolves to a different one now.
 */
export async function volumeImages(
  effects: Effects,
  pod: Pod,
  record: PodRecord | undefined,
): Promise<Readonly<Record<string, string>> | undefined> {
  const { tasks } = effects;
  const uid = pod.metadata?.uid ?? "";
  const wanted = ((pod.spec?.volumes ?? []) as readonly ShownImage[]).filter(
    // Built-in images are not pulled.
    ({ image }) => image && !builtInImages.includes(image.reference ?? ""),
  );
  const images: Record<string, string> = {};
  for (const { name, image: source } of wanted) {
    const task = taskOf(name);
    const begin = (signal: AbortSignal): Promise<string> =>
      ensureImage(effects, pod, { image: source?.reference ?? "", policy: source?.pullPolicy }, signal);
    const shown = record?.volumes?.[name]?.image;
    if (shown === undefined) await tasks.begin(uid, task, begin);
    const state = tasks.of(uid)[task];
    if (state?.state === "failed") {
      tasks.forget(uid, task);
      const message = `MountVolume.SetUp failed for volume "${name}" : ${state.message}`;
      throw new NodeError(state.reason === "ErrImagePull" ? "ErrImagePull" : "FailedMount", message);
    }
    const id = shown ?? pulledImage(effects, uid, task);
    if (id !== undefined) images[name] = id;
  }
  return Object.keys(images).length === wanted.length ? images : undefined;
}
