import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import type { PictureTools } from "./picture-tools.ts";
import { type View, views } from "./views.ts";

const wide = { width: 1280, height: 800 };
const narrow = { width: 390, height: 800 };
const narrowViews = ["overview", "sandbox"];
const settledMs = 1500;
/** A taller picture would be hard to see. */
const mostPixels = 2600;
const shownOfYaml = 150;
const longestMs = 20_000;

interface PictureOptions extends Pick<PictureTools, "shrink"> {
  readonly folder: string;
  /** Names of views. Default: all. */
  readonly names: readonly string[];
}

/** Takes the pictures of a page that is logged in. Returns their size in bytes. A view that fails does not stop the others. */
export async function takePictures(page: Page, { folder, names, shrink }: PictureOptions): Promise<number> {
  const isWanted = ({ name }: View): boolean => names.length === 0 || names.includes(name);
  const onPhone = views
    .filter(({ name }) => narrowViews.includes(name))
    .map((view) => ({ ...view, name: `narrow-${view.name}` }));
  const failures: string[] = [];
  let bytes = 0;
  page.setDefaultTimeout(longestMs);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    for (const [size, some] of [[wide, views] as const, [narrow, onPhone] as const]) {
      await page.setViewportSize(size);
      for (const view of some.filter(isWanted)) {
        const file = join(folder, `${view.name}-${theme}.png`);
        try {
          if (view.isSignedOut === true) await takeSignedOut(page, theme, file);
          else await take(page, view, file);
          shrink(file);
          bytes += statSync(file).size;
        } catch (error) {
          failures.push(`${view.name}, ${theme}: ${(error as Error).message}`);
        }
      }
    }
  }
  if (failures.length > 0) throw new Error(`Cannot take ${failures.length} pictures:\n${failures.join("\n")}`);
  return bytes;
}

async function take(page: Page, { path, prepare, isWhole }: View, file: string): Promise<void> {
  // Loading the page again would lose what was recorded for the plots.
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await prepare?.(page);
  await page.locator(".loading").first().waitFor({ state: "detached" });
  await page.mouse.move(0, 0);
  await sleep(settledMs);
  if (isWhole === true) await growToContent(page);
  await page.screenshot({ path: file, animations: "disabled" });
  if (isWhole === true) await page.setViewportSize(wide);
  if ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");
}

async function growToContent(page: Page): Promise<void> {
  const hidden = await page.locator("main").evaluate((main, yamlBottom) => {
    const whole = main.scrollHeight - main.clientHeight;
    const preview = [...main.querySelectorAll("pre")].at(-1)?.getBoundingClientRect();
    // Of the YAML at the end of a page, the first lines are enough.
    return preview === undefined ? whole : Math.min(whole, preview.top + yamlBottom);
  }, shownOfYaml - wide.height);
  const height = Math.round(wide.height + Math.max(0, hidden));
  await page.setViewportSize({ ...wide, height: Math.min(mostPixels, height) });
  await sleep(settledMs);
}

async function takeSignedOut(page: Page, colorScheme: "light" | "dark", file: string): Promise<void> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("Cannot open a second window: the browser is closed");
  await using context = await browser.newContext({ viewport: { ...wide, height: 480 }, colorScheme });
  const visitor = await context.newPage();
  await visitor.goto(new URL("/", page.url()).href);
  await visitor.getByRole("heading", { level: 1, name: "Log in to Agent Sandbox" }).waitFor();
  await visitor.screenshot({ path: file });
}
