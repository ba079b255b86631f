/** The views of the pictures: where each is, and what is done before the picture is taken. */
import type { Page } from "playwright-core";

export interface View {
  /** The name of the file. */
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const shop = "/sandboxes/default/web-checkout";

export const views: readonly View[] = [
  { name: "overview", path: "/" },
  { name: "sandboxes", path: "/sandboxes" },
  { name: "sandbox", path: shop },
  { name: "not-ready", path: "/sandboxes/default/preview-pr-184" },
  { name: "logs", path: `${shop}?view=logs` },
  { name: "files", path: `${shop}?view=files&path=src&file=src%2Fcart.ts` },
  { name: "image", path: `${shop}?view=files&file=logo.png` },
  { name: "processes", path: `${shop}?view=processes`, prepare: openOutput },
  { name: "ports", path: `${shop}?view=ports` },
  { name: "metrics", path: `${shop}?view=metrics` },
  { name: "yaml", path: `${shop}?view=yaml` },
  { name: "fork", path: shop, prepare: openFork },
  { name: "create", path: "/sandboxes", prepare: openForm },
  { name: "templates", path: "/templates" },
  { name: "pool", path: "/pools/default/python-agents" },
  { name: "claims", path: "/claims" },
  { name: "snapshots", path: "/snapshots" },
  { name: "images", path: "/images" },
  { name: "events", path: "/events" },
  { name: "machine", path: "/machine" },
  { name: "palette", path: "/", prepare: openPalette },
  // Its programs continue, and are among the processes.
  { name: "terminal", path: `${shop}?view=terminal`, prepare: useTerminal },
];

async function useTerminal(page: Page): Promise<void> {
  const screen = page.locator(".xterm-helper-textarea").first();
  await screen.waitFor({ state: "attached" });
  await screen.focus();
  for (const command of [
    "clear; cd /workspace && ls -l --color=always",
    "head -12 src/cart.ts",
    "wc -l data/orders.csv",
  ]) {
    await page.keyboard.type(`${command}\n`, { delay: 5 });
    await page.waitForTimeout(800);
  }
}

async function openOutput(page: Page): Promise<void> {
  const row = page.getByRole("row", { name: /export_orders/ }).filter({ hasText: "Running" });
  await row.getByRole("button", { name: /Show the output/ }).click();
  await page.getByRole("log").getByText("orders exported").first().waitFor();
}

async function openFork(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Fork/ }).first().click();
  await page.getByRole("dialog").waitFor();
}

async function openForm(page: Page): Promise<void> {
  await page.getByRole("button", { name: "New sandbox" }).first().click();
  const form = page.getByRole("dialog", { name: "New sandbox" });
  await form.getByLabel("Name", { exact: true }).fill("agent-c31");
  await form.getByLabel("Memory limit").fill("512Mi");
}

async function openPalette(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("check", { delay: 20 });
}
