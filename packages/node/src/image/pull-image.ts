import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { type AccessKey, accessKey } from "./access.ts";
import { type RegistryLogins, writeLogins } from "./credentials.ts";
import { type StoredImage, withImage } from "./image-index.ts";
import { importImage, openStaging, type StoreParts } from "./import-image.ts";
import { canonicalName, type Reference, repositoryOf } from "./reference.ts";
import { registryMessage } from "./registry-message.ts";
import { type Confinement, skopeo } from "./skopeo.ts";

export interface PullRequest {
  /** For this registry alone: see `loginsFor`. */
  readonly logins?: RegistryLogins | undefined;
  readonly namespace?: string | undefined;
  /** Who may use the image afterwards. Default: whoever has these logins. */
  readonly access?: AccessKey | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The second try fetches again what the first has found to be damaged on this machine's own disk. */
const mostTries = 2;
/** Beside the layers: manifests, configurations, answers of servers that give tokens, and what TLS adds. */
const besidesLayers = 64 * 2 ** 20;

/**
 * Makes the store's image of that name the one the registry has now. An image that is here already is not fetched, and
 * of one that was fetched in part only the rest is.
 */
export async function pullImage(parts: StoreParts, reference: Reference, request: PullRequest): Promise<StoredImage> {
  const name = canonicalName(reference);
  const { logins = {}, namespace, access = accessKey(logins) } = request;
  const bytes = parts.limits.imageBytes + parts.limits.imageBytes / 16 + besidesLayers;
  using session = await parts.network?.open({ ...parts.pace, bytes });
  const signals = [request.signal, session?.signal].filter((one) => one !== undefined);
  const signal = AbortSignal.any(signals);
  try {
    await using staging = await openStaging(parts);
    const loginFile = join(staging.path, "logins.json");
    await writeLogins(loginFile, logins);
    const confinement = { cgroups: parts.cgroups, enter: session?.enter, env: session?.env };
    const fetch: Fetch = { loginFile, temporary: staging.path, confinement, signal };
    const digest = `${repositoryOf(reference)}@${await currentDigest(parts, name, fetch)}`;
    const names = reference.digest === undefined ? [name] : [];
    const here = (await parts.index.list()).find(({ digests }) => digests.includes(digest));
    // The registry has just shown its manifest to these logins.
    if (here !== undefined) return await rename(parts, { ...here, names, access: [access] });
    return await fetchImage(parts, { digest, names, access, namespace, ...fetch });
  } catch (error) {
    request.signal?.throwIfAborted();
    const cause: unknown = session?.signal.aborted ? session.signal.reason : error;
    const said = messageOf(cause);
    const why = session === undefined ? said : registryMessage(said, reference, parts.registries);
    throw new NodeError("ErrImagePull", `Cannot pull image "${name}": ${why}`, { cause });
  }
}

interface Fetch {
  readonly loginFile: string;
  readonly temporary: string;
  readonly confinement: Confinement;
  readonly signal: AbortSignal;
}

interface Wanted extends Fetch {
  readonly digest: string;
  readonly names: readonly string[];
  readonly access: AccessKey;
  readonly namespace: string | undefined;
}

/** The digest of what the name stands for: a manifest, or the list of those for each architecture. */
async function currentDigest(parts: StoreParts, name: string, fetch: Fetch): Promise<string> {
  const { loginFile, ...rest } = fetch;
  const text = await skopeo(["inspect", "--raw", `--authfile=${loginFile}`, `docker://${name}`], {
    ...rest,
    fileBytes: parts.limits.imageBytes,
    registriesFile: parts.registriesFile,
  });
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  const wanted = name.split("@")[1];
  if (wanted !== undefined && wanted !== digest)
    throw new NodeError("ErrImagePull", `the registry has ${digest} in its place`);
  return digest;
}

async function fetchImage(parts: StoreParts, { digest, loginFile, ...wanted }: Wanted): Promise<StoredImage> {
  for (let tries = 1; ; tries++) {
    try {
      return await importImage(parts, {
        ...wanted,
        source: `docker://${digest}`,
        sourceArgs: [`--src-authfile=${loginFile}`, "--retry-times=2"],
        digests: [digest],
      });
    } catch (error) {
      wanted.signal.throwIfAborted();
      const damaged =
        error instanceof NodeError && /^Cannot use (layer|blob)|^Cannot unpack a layer/.test(error.message);
      if (!damaged || tries === mostTries) throw error;
    }
  }
}

function rename(parts: StoreParts, image: StoredImage): Promise<StoredImage> {
  return parts.index.change(async (images) => {
    const next = withImage(images, image);
    return { images: next, result: next.find(({ id }) => id === image.id) ?? image };
  });
}
