/** The views of the pictures: where each is, and what is done before the picture is taken. */
import type { Page } from "playwright-core";

export interface View {
  /** The name of the file. */
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<void>;
  /** The picture is as tall as the content. */
  readonly isWhole?: boolean;
  /** What a visitor without a session sees. */
  readonly isSignedOut?: boolean;
}

const shop = "/sandboxes/default/web-checkout";

export const views: readonly View[] = [
  { name: "login", path: "/", isSignedOut: true },
  { name: "overview", path: "/" },
  { name: "overview-whole", path: "/", isWhole: true },
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
  { name: "changes", path: `${shop}?view=yaml`, prepare: openChanges },
  { name: "fork", path: shop, prepare: openFork },
  { name: "create", path: "/sandboxes", prepare: openForm },
  { name: "templates", path: "/templates" },
  { name: "template", path: "/templates/default/python-agent", isWhole: true },
  { name: "start", path: "/templates", prepare: openStart },
  { name: "pools", path: "/pools" },
  { name: "pool", path: "/pools/default/python-agents", isWhole: true },
  { name: "claims", path: "/claims" },
  { name: "claim", path: "/claims/default/agent-4f2", isWhole: true },
  { name: "snapshots", path: "/snapshots" },
  { name: "snapshot", path: "/snapshots/default/before-migration", isWhole: true },
  { name: "images", path: "/images" },
  { name: "image-details", path: "/images", prepare: openImage },
  { name: "events", path: "/events" },
  { name: "machine", path: "/machine", isWhole: true },
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

async function openChanges(page: Page): Promise<void> {
  const editor = page.getByRole("textbox", { name: "YAML" });
  const text = await editor.inputValue();
  const changed = text
    .replace("suspendAfterSeconds: 7200", "suspendAfterSeconds: 3600")
    .replace("memory: 256Mi", "memory: 512Mi");
  await editor.fill(changed);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByLabel("Changes").waitFor();
}

async function openStart(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Start sandbox from python-agent" }).click();
  await page.getByRole("dialog").getByText("SandboxClaim").first().waitFor();
}

async function openImage(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Details of .*code-interpreter/ }).click();
  await page.getByRole("dialog").waitFor();
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
