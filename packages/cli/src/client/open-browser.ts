import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** xdg-open, if there is a display to open a browser on. */
export function browserProgram(environment: NodeJS.ProcessEnv): string | undefined {
  if (!environment["DISPLAY"] && !environment["WAYLAND_DISPLAY"]) return undefined;
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "xdg-open")).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Opens a login link in the browser, or prints it if there is no browser or the user wants that. Returns what the user does next. */
export function presentLink(link: string, { print = false }: { readonly print?: boolean }): string | undefined {
  const browser = print ? undefined : browserProgram(process.env);
  if (browser === undefined) console.log(link);
  else startBrowser(browser, link);
  if (print) return undefined;
  return browser === undefined ? "Open this link within a minute. It works once" : "Opened in the browser";
}

function startBrowser(program: string, link: string): void {
  const child = spawn(program, [link], { stdio: "ignore", detached: true });
  child.once("error", () => console.log(link));
  child.unref();
}
