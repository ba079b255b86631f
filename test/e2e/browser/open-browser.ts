import { accessSync, constants } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Chromium's settings for all profiles, such as those of its crash reports. It must not write to the home folder of the user. */
const settingsFolder = join(tmpdir(), "agent-sandbox-chromium");

/** A Chromium without a window. Resolves `*.localhost` to this machine by itself, as every browser does. */
export function openBrowser(): Promise<Browser> {
  const env = { ...process.env, XDG_CONFIG_HOME: settingsFolder, XDG_CACHE_HOME: settingsFolder };
  return chromium.launch({ executablePath: findChromium(), args: ["--disable-gpu"], env });
}

function findChromium(): string {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "chromium"))
    .find(isExecutable);
  if (found === undefined) {
    throw new Error(
      'Cannot find "chromium" on the PATH: install the Debian package chromium (scripts/setup.sh test does)',
    );
  }
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
