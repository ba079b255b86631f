import { randomBytes } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";

/** The operator's settings for one registry. */
export interface RegistrySettings {
  /** `docker.io` or `registry.example.com:5000`, optionally followed by a prefix of the repository name. */
  readonly name: string;
  /** Tried before the registry, in this order. */
  readonly mirrors?: readonly string[];
  /** Allows plain HTTP and unverified certificates, also for its mirrors. Default false. */
  readonly insecure?: boolean;
}

const location = /^(?:[A-Za-z0-9.-]+|\[[A-Fa-f0-9:]+\])(?::\d{1,5})?(?:\/[A-Za-z0-9._-]+)*$/;

/** Writes the settings to a file for skopeo. Without settings, skopeo uses the machine's own registries.conf. */
export async function writeRegistries(
  folder: string,
  settings: readonly RegistrySettings[],
): Promise<string | undefined> {
  if (settings.length === 0) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "registries.conf");
  const temporary = `${path}.${randomBytes(4).toString("hex")}`;
  await writeFile(temporary, registriesText(settings), { mode: 0o600 });
  await rename(temporary, path);
  return path;
}

export function registriesText(settings: readonly RegistrySettings[]): string {
  return settings
    .flatMap(({ name, mirrors = [], insecure = false }) => [
      "[[registry]]",
      `location = ${quoted(name)}`,
      `insecure = ${insecure}`,
      ...mirrors.flatMap((mirror) => ["[[registry.mirror]]", `location = ${quoted(mirror)}`, `insecure = ${insecure}`]),
      "",
    ])
    .join("\n");
}

function quoted(text: string): string {
  if (location.test(text)) return `"${text}"`;
  throw new NodeError("NodeSetup", `Cannot use registry "${text}": it must have the form host[:port][/path]`);
}
