import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** A Chromium without a window. Resolves `*.localhost` to this machine by itself, as every browser does. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: ["--disable-gpu"] });
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
