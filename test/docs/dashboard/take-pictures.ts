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

interface PictureOptions extends Pick<PictureTools, "shrink"> {
  readonly folder: string;
  /** Names of views. Default: all. */
  readonly names: readonly string[];
}

/** Takes the pictures of a page that is logged in. Returns their size in bytes. */
export async function takePictures(page: Page, { folder, names, shrink }: PictureOptions): Promise<number> {
  const isWanted = ({ name }: View): boolean => names.length === 0 || names.includes(name);
  const onPhone = views
    .filter(({ name }) => narrowViews.includes(name))
    .map((view) => ({ ...view, name: `narrow-${view.name}` }));
  let bytes = 0;
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    for (const [size, some] of [[wide, views] as const, [narrow, onPhone] as const]) {
      await page.setViewportSize(size);
      for (const view of some.filter(isWanted)) {
        const file = join(folder, `${view.name}-${theme}.png`);
        await take(page, view, file);
        shrink(file);
        bytes += statSync(file).size;
      }
    }
  }
  return bytes;
}

async function take(page: Page, { path, prepare }: View, file: string): Promise<void> {
  // Loading the page again would lose what was recorded for the plots.
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await prepare?.(page);
  await page.locator(".loading").first().waitFor({ state: "detached" });
  await page.mouse.move(0, 0);
  await sleep(settledMs);
  await page.screenshot({ path: file, animations: "disabled" });
  if ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");
}
