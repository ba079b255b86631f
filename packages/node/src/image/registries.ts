import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../errors.ts";

/** How a registry is reached, where that is not the usual way. */
export interface RegistrySettings {
  /** `docker.io`, `registry.example.com:5000`, with or without the first parts of a repository's name. */
  readonly name: string;
  /** Asked first, in this order. */
  readonly mirrors?: readonly string[];
  /** Plain HTTP and certificates of unknown origin are accepted, from its mirrors too. Default false. */
  readonly insecure?: boolean;
}

const location = /^(?:[A-Za-z0-9.-]+|\[[A-Fa-f0-9:]+\])(?::\d{1,5})?(?:\/[A-Za-z0-9._-]+)*$/;

/** Writes the settings as skopeo reads them. Without any it goes by the machine's own file. */
export async function writeRegistries(
  folder: string,
  settings: readonly RegistrySettings[],
): Promise<string | undefined> {
  if (settings.length === 0) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "registries.conf");
  const temporary = `${path}.${process.pid}`;
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
  throw new NodeError("NodeSetup", `Cannot use registry "${text}": write host[:port][/path]`);
}
