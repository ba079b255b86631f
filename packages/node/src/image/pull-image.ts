import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf, NodeError } from "../errors.ts";
import { type RegistryLogins, writeLogins } from "./credentials.ts";
import { type StoredImage, withImage } from "./image-index.ts";
import { importImage, openStaging, type StoreParts } from "./import-image.ts";
import { canonicalName, type Reference, repositoryOf } from "./reference.ts";
import { skopeo } from "./skopeo.ts";

export interface PullRequest {
  readonly logins?: RegistryLogins | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The second try fetches again what the first has found to be damaged on this machine's own disk. */
const mostTries = 2;

/**
 * Makes the store's image of that name the one the registry has now. An image that is here already is not fetched, and
 * of one that was fetched in part only the rest is.
 */
export async function pullImage(parts: StoreParts, reference: Reference, request: PullRequest): Promise<StoredImage> {
  const name = canonicalName(reference);
  try {
    await using staging = await openStaging(parts);
    const loginFile = join(staging.path, "logins.json");
    await writeLogins(loginFile, request.logins ?? {});
    const access = { loginFile, temporary: staging.path, signal: request.signal };
    const digest = `${repositoryOf(reference)}@${await currentDigest(parts, name, access)}`;
    const names = reference.digest === undefined ? [name] : [];
    const here = (await parts.index.list()).find(({ digests }) => digests.includes(digest));
    if (here !== undefined) return await rename(parts, { ...here, names });
    return await fetchImage(parts, { digest, names, ...access });
  } catch (error) {
    request.signal?.throwIfAborted();
    throw new NodeError("ErrImagePull", `Cannot pull image "${name}": ${messageOf(error)}`, { cause: error });
  }
}

interface Access {
  readonly loginFile: string;
  readonly temporary: string;
  readonly signal: AbortSignal | undefined;
}

/** The digest of what the name stands for: a manifest, or the list of those for each architecture. */
async function currentDigest(parts: StoreParts, name: string, access: Access): Promise<string> {
  const text = await skopeo(["inspect", "--raw", `--authfile=${access.loginFile}`, `docker://${name}`], {
    fileBytes: parts.limits.imageBytes,
    temporary: access.temporary,
    registriesFile: parts.registriesFile,
    signal: access.signal,
  });
  const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  const wanted = name.split("@")[1];
  if (wanted !== undefined && wanted !== digest) throw new Error(`the registry has ${digest} in its place`);
  return digest;
}

async function fetchImage(
  parts: StoreParts,
  { digest, names, loginFile, signal }: Access & { digest: string; names: readonly string[] },
): Promise<StoredImage> {
  for (let tries = 1; ; tries++) {
    try {
      return await importImage(parts, {
        source: `docker://${digest}`,
        sourceArgs: [`--src-authfile=${loginFile}`, "--retry-times=2"],
        names,
        digests: [digest],
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
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
