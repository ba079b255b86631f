import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { type AccessKey, accessKey } from "./access.ts";
import { type RegistryLogins, writeLogins } from "./credentials.ts";
import { DamagedBlobError } from "./damaged-blob.ts";
import { explainPull } from "./explain-pull.ts";
import { type StoredImage, withImage } from "./image-index.ts";
import { importImage, openStaging, type StoreParts } from "./import-image.ts";
import type { ReportProgress } from "./import-progress.ts";
import { canonicalName, type Reference, repositoryOf } from "./reference.ts";
import { registryMessage } from "./registry-message.ts";
import { type Confinement, skopeo } from "./skopeo.ts";

export interface PullRequest {
  /** The logins for this registry only: see `loginsFor`. */
  readonly logins?: RegistryLogins | undefined;
  readonly namespace?: string | undefined;
  /** Who may use the image afterwards. Default: Pods with these logins. */
  readonly access?: AccessKey | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** The first try removes damaged blobs from the disk, and the second fetches them again. */
const mostTries = 2;
/** Allowance for manifests, configurations, responses of token servers and TLS overhead. */
const overheadBytes = 64 * 2 ** 20;

/**
 * Updates the image with this name to the one the registry has now. An image that is in the store already is not fetched,
 * and of a partly fetched image only the missing blobs are.
 */
export async function pullImage(parts: StoreParts, reference: Reference, request: PullRequest): Promise<StoredImage> {
  const name = canonicalName(reference);
  const { logins = {}, namespace, access = accessKey(logins) } = request;
  const bytes = parts.limits.imageBytes + parts.limits.imageBytes / 16 + overheadBytes;
  const { settings, file: registriesFile } = await parts.registries.current();
  using session = await parts.network?.open({ ...parts.pace, bytes, registries: settings });
  const signals = [request.signal, session?.signal].filter((one) => one !== undefined);
  const signal = AbortSignal.any(signals);
  let hasManifest = false;
  try {
    await using staging = await openStaging(parts);
    const loginFile = join(staging.path, "logins.json");
    await writeLogins(loginFile, logins);
    const confinement = { cgroups: parts.cgroups, enter: session?.enter, env: session?.env };
    const fetch: Fetch = { loginFile, temporary: staging.path, confinement, registriesFile, signal };
    const digest = `${repositoryOf(reference)}@${await currentDigest(parts, name, fetch)}`;
    hasManifest = true;
    const names = reference.digest === undefined ? [name] : [];
    const here = (await parts.index.list()).find(({ digests }) => digests.includes(digest));
    // The registry has just returned the manifest for these logins, so they may use the image.
    if (here !== undefined) return await rename(parts, { ...here, names, access: [access] });
    const { onProgress } = request;
    return await fetchImage(parts, { digest, names, access, namespace, onProgress, ...fetch });
  } catch (error) {
    request.signal?.throwIfAborted();
    const cause: unknown = session?.signal.aborted ? session.signal.reason : error;
    const said = cause === error ? (session?.trouble ?? messageOf(error)) : messageOf(cause);
    const why =
      session === undefined
        ? explainPull(said, reference)
        : registryMessage({ said, hasManifest }, reference, settings);
    throw new NodeError("ErrImagePull", `Cannot pull image "${name}": ${why}`, { cause });
  }
}

interface Fetch {
  readonly loginFile: string;
  readonly temporary: string;
  readonly confinement: Confinement;
  readonly registriesFile: string | undefined;
  readonly signal: AbortSignal;
}

interface Wanted extends Fetch {
  readonly digest: string;
  readonly names: readonly string[];
  readonly access: AccessKey;
  readonly namespace: string | undefined;
  readonly onProgress: ReportProgress | undefined;
}

/** The digest of the manifest, or of the image index with a manifest for each architecture. */
async function currentDigest(parts: StoreParts, name: string, fetch: Fetch): Promise<string> {
  const { loginFile, ...rest } = fetch;
  const text = await skopeo(["inspect", "--raw", `--authfile=${loginFile}`, `docker://${name}`], {
    ...rest,
    fileBytes: parts.limits.imageBytes,
  });
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  const wanted = name.split("@")[1];
  if (wanted !== undefined && wanted !== digest)
    throw new NodeError("ErrImagePull", `the registry has sent ${digest} instead`);
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
      if (!(error instanceof DamagedBlobError) || tries === mostTries) throw error;
    }
  }
}

function rename(parts: StoreParts, image: StoredImage): Promise<StoredImage> {
  return parts.index.change(async (images) => {
    const next = withImage(images, image);
    return { images: next, result: next.find(({ id }) => id === image.id) ?? image };
  });
}
