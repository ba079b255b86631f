import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { prepareSupply } from "./journey-world.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a person without a mouse", { timeout: 120_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await prepareSupply(box);
    await box.createSandbox("seen", { runtime: "Injected" });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  async function open(): Promise<Visit> {
    const visit = await Visit.open(browser, await box.loginLink());
    await visit.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    return visit;
  }

  test("skips the navigation", async () => {
    await using visit = await open();
    const { page } = visit;
    await page.keyboard.press("Tab");
    await expectFocus(page, page.getByRole("link", { name: "Skip to content" }));
    await page.keyboard.press("Enter");
    await expectFocus(page, page.getByRole("main"));
    await tabTo(page, page.getByRole("button", { name: "New sandbox" }).first());
    expect(await visit.findProblems()).toEqual([]);
  });

  test("finds pages and sandboxes with the palette, and leaves it with Escape", async () => {
    await using visit = await open();
    const { page } = visit;
    const search = page.getByRole("button", { name: "Search or run a command" });
    await tabTo(page, search);
    await page.keyboard.press("Enter");
    const palette = page.getByRole("dialog", { name: "Search or run a command" });
    const input = palette.getByRole("combobox");
    await expectFocus(page, input);
    expect(await visit.findProblems()).toEqual([]);
    const first = await palette.getByRole("option", { selected: true }).innerText();
    await page.keyboard.press("ArrowDown");
    expect(await palette.getByRole("option", { selected: true }).innerText()).not.toBe(first);
    await page.keyboard.press("ArrowUp");
    expect(await palette.getByRole("option", { selected: true }).innerText()).toBe(first);
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    await expectFocus(page, search);
    await run(page, "machine", "Machine");
    await page.getByRole("heading", { level: 1, name: "Machine" }).waitFor();
    await run(page, "sandbox seen", "seen");
    await page.getByRole("heading", { level: 1, name: "seen" }).waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  test("moves between the views of a sandbox", async () => {
    await using visit = await open();
    const { page } = visit;
    await run(page, "seen", "seen");
    const tab = (name: string): Locator => page.getByRole("tab", { name, exact: true });
    await tabTo(page, tab("Overview"));
    for (const [key, name] of [
      ["ArrowRight", "Logs"],
      ["End", "YAML"],
      ["ArrowLeft", "Metrics"],
      ["Home", "Overview"],
      ["ArrowLeft", "YAML"],
    ] as const) {
      await page.keyboard.press(key);
      await expectFocus(page, tab(name));
      expect(await tab(name).getAttribute("aria-selected")).toBe("true");
    }
    await tabTo(page, page.getByRole("textbox", { name: "YAML" }));
    expect(await visit.findProblems()).toEqual([]);
  });

  test("opens a menu and a dialog, and is back where it was after Escape", async () => {
    await using visit = await open();
    const { page } = visit;
    await run(page, "seen", "seen");
    const more = page.getByRole("button", { name: "More actions" });
    await tabTo(page, more);
    await page.keyboard.press("Enter");
    await expectFocus(page, page.getByRole("menuitem", { name: "Restart" }));
    expect(await visit.findProblems()).toEqual([]);
    await page.keyboard.press("ArrowUp");
    await expectFocus(page, page.getByRole("menuitem", { name: "Delete" }));
    await page.keyboard.press("Escape");
    await expectFocus(page, more);
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Change the lifetime" });
    await expectFocus(page, dialog.getByLabel("New end"));
    expect(await visit.findProblems()).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expectFocus(page, more);
  });

  test("chooses which processes are listed, and stays at the choice", async () => {
    await using visit = await open();
    const { page } = visit;
    await run(page, "seen", "seen");
    await page.getByRole("tab", { name: "Processes" }).press("Enter");
    const choice = page.getByRole("combobox", { name: "Which processes" });
    await tabTo(page, choice);
    await page.keyboard.press("End");
    await page.getByRole("table", { name: "All processes" }).getByText("sleep infinity", { exact: true }).waitFor();
    await expectFocus(page, choice);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("starts a sandbox from a template, and does not delete one by accident", async () => {
    await using visit = await open();
    const { page } = visit;
    await run(page, "start workshop", "Start a sandbox from workshop");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Start sandbox" }).waitFor();
    expect(await visit.findProblems()).toEqual([]);
    await tabTo(page, dialog.getByRole("button", { name: "Start sandbox" }));
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/(?:claims|sandboxes)\/default\//);
    await run(page, "delete seen", "Delete sandbox seen");
    const confirmation = page.getByRole("dialog", { name: "Delete sandbox seen?" });
    await expectFocus(page, confirmation.getByRole("button", { name: "Cancel" }));
    expect(await visit.findProblems()).toEqual([]);
    await page.keyboard.press("Enter");
    await confirmation.waitFor({ state: "detached" });
    expect(box.kubectl("get", "sandbox", "seen", "-o=name")).toContain("seen");
  });
});

/** Types words into the palette, and runs the first command that it finds. */
async function run(page: Page, words: string, title: string): Promise<void> {
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or run a command" });
  await palette.getByRole("combobox").waitFor();
  await page.keyboard.type(words);
  await palette.getByRole("option", { selected: true }).getByText(title, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await palette.waitFor({ state: "detached" });
}

async function expectFocus(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  await expect.poll(() => hasFocus(wanted), { timeout: 10_000, message: await focused(page) }).toBe(true);
}

const hasFocus = (element: Locator): Promise<boolean> =>
  element.evaluate((found) => found === found.ownerDocument.activeElement);

const focused = async (page: Page): Promise<string> =>
  `the focus was at ${String(await page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))}`;

const mostTabs = 80;

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let count = 0; count < mostTabs && !(await hasFocus(wanted)); count += 1) await page.keyboard.press("Tab");
  await expectFocus(page, wanted);
}
