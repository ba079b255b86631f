import type { Pod } from "@agent-sandbox/api";
import type { Client } from "@agent-sandbox/kube";
import { isReason } from "@agent-sandbox/kube";
import { loginsFrom, type RegistryLogins } from "../image/credentials.ts";
import { hostImageName, type PullPolicy, sandboxdImageName } from "../image/image-store.ts";
import { secrets } from "../resources.ts";
import type { Effects, PodNote } from "./effects.ts";
import type { Machine } from "./machine.ts";
import { memberNamed } from "./members.ts";
import { pullTask } from "./plan-containers.ts";
import type { PodRecord } from "./record.ts";

/** Makes a container's image ready beside the passes: it may have a long way to come. */
export async function pullImage(effects: Effects, pod: Pod, { uid }: PodRecord, name: string): Promise<void> {
  const { machine, tasks, tell, client } = effects;
  const { image = "", imagePullPolicy } = memberNamed(pod, name)?.container ?? {};
  const policy = imagePullPolicy as PullPolicy | undefined;
  await tasks.begin(uid, pullTask(name), async (signal) => {
    if ((policy !== "Always" || builtIn.includes(image)) && (await isPresent(machine, image))) {
      return tell(pod, pulled(name, `Container image "${image}" already present on machine`));
    }
    const since = machine.now();
    if (policy !== "Never") tell(pod, { reason: "Pulling", text: `Pulling image "${image}"`, container: name });
    await machine.images.resolve(image, { policy, logins: await loginsFor(client, pod), signal });
    tell(pod, pulled(name, `Successfully pulled image "${image}" in ${machine.now() - since}ms`));
  });
}

/** They come with the node: there is nowhere to pull them from. */
const builtIn: readonly string[] = [hostImageName, sandboxdImageName];

const pulled = (container: string, text: string): PodNote => ({ reason: "Pulled", text, container });

function isPresent({ images }: Machine, image: string): Promise<boolean> {
  return images.resolve(image, { policy: "Never" }).then(
    () => true,
    () => false,
  );
}

/** A Secret that is missing is no reason not to try: as with the kubelet, the registry decides. */
async function loginsFor(client: Client, { metadata, spec }: Pod): Promise<RegistryLogins> {
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
