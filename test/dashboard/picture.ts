import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

const folder = join(import.meta.dirname, "../../.cache/dashboard");

/** Keeps what a test saw, for people: `.cache/dashboard/NAME.png`. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
