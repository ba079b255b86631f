import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { ShellScreen } from "./shell-screen.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("the terminal of a sandbox", { timeout: 120_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await Promise.all([box.createSandbox("shells", { runtime: "Injected" }), box.createSandbox("plain")]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  async function visitSandbox(name: string, options = {}): Promise<Visit> {
    const visit = await Visit.open(browser, await box.loginLink(), options);
    await visit.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await visit.page.goto(new URL(`/sandboxes/default/${name}`, visit.page.url()).href);
    return visit;
  }

  test("runs what is typed, and has the size of the window", async () => {
    await using visit = await visitSandbox("shells");
    const { page } = visit;
    const shell = await ShellScreen.open(page);
    expect(await shell.run("echo $((6 * 7)) $TERM")).toBe("42 xterm-256color");
    const size = await shell.run("stty size");
    expect(size).toBe(await shownSize(page));
    await page.setViewportSize({ width: 900, height: 1000 });
    await expect.poll(() => shell.run("stty size"), { timeout: 60_000 }).not.toBe(size);
    expect(await shell.run("stty size")).toBe(await shownSize(page));
    expect(await visit.findProblems()).toEqual([]);
  });

  test.for(["light", "dark"] as const)(
    "shows colours, with the %s theme and for screen readers",
    async (colorScheme) => {
      await using visit = await visitSandbox("shells", { colorScheme });
      const { page } = visit;
      const shell = await ShellScreen.open(page);
      await shell.run(`printf '\\033[38;2;10;200;30;48;5;17mcoloured\\033[0m \\033[1;4;31mred\\033[0m\\n'`);
      const style = (await page.getByText("coloured", { exact: true }).getAttribute("style")) ?? "";
      expect(style).toMatch(/color/);
      expect(await visit.findProblems()).toEqual([]);
      await page.getByRole("button", { name: "Read the output to screen readers" }).click();
      await shell.run("echo heard");
      await page.locator(".xterm-accessibility").getByText("heard").first().waitFor();
      expect(await visit.findProblems()).toEqual([]);
    },
  );

  test("has several shells, which stay when the view is left", async () => {
    await using visit = await visitSandbox("shells");
    const { page } = visit;
    const shell = await ShellScreen.open(page);
    await shell.run("name=first");
    await page.getByRole("button", { name: "New terminal" }).click();
    await shell.waitForState("Connected");
    await shell.waitForPrompt();
    expect(await shell.run("echo [$name]")).toBe("[]");
    await page.getByRole("tab", { name: /^Terminal 1/ }).click();
    expect(await shell.run("echo [$name]")).toBe("[first]");
    await shell.run("(sleep 1; echo later) & true");
    await page.getByRole("tab", { name: "Processes" }).click();
    await page.getByRole("region", { name: "Processes started through the runtime API" }).waitFor();
    // The word can come after the prompt.
    await page.getByRole("tab", { name: "Terminal", exact: true }).click();
    await shell.waitForState("Connected");
    await shell.waitFor("later");
    expect(await shell.run("echo [$name]")).toBe("[first]");
    await shell.enter("exit 3");
    await page.getByText("The shell has ended with exit code 3.").waitFor();
    await page.getByRole("button", { name: "Close terminal 1" }).click();
    expect(await page.getByRole("tab", { name: /^Terminal \d/ }).count()).toBe(1);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("copies and pastes, and is left with the keyboard", async () => {
    await using visit = await visitSandbox("shells", { permissions: ["clipboard-read", "clipboard-write"] });
    const { page } = visit;
    const shell = await ShellScreen.open(page);
    await page.evaluate(`navigator.clipboard.writeText("echo pasted''text\\u001b[201~\\u0003")`);
    await shell.focus();
    await page.keyboard.press("Control+Shift+V");
    await page.keyboard.press("Enter");
    await shell.waitFor("pastedtext[201~");
    await page.evaluate(`navigator.clipboard.writeText("echo from the''button")`);
    await page.getByRole("button", { name: "Paste" }).click();
    await shell.waitFor("echo from the");
    await page.keyboard.press("Enter");
    await shell.waitFor("from thebutton");
    await shell.run("echo word");
    const word = await page.locator(".xterm-rows").getByText("word", { exact: true }).first().boundingBox();
    await page.mouse.dblclick((word?.x ?? 0) + 8, (word?.y ?? 0) + 8);
    await page.keyboard.press("Control+C");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("word");
    await page.keyboard.press("Control+Shift+X");
    expect(await page.evaluate("document.activeElement.id")).toBe("terminal-tab-1");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.ariaLabel")).toContain("New terminal");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("of a sandbox without the runtime API names the command that opens one", async () => {
    await using visit = await visitSandbox("plain");
    await visit.page.getByRole("tab", { name: "Terminal", exact: true }).click();
    await visit.page.getByText("This sandbox has no runtime API").waitFor();
    await visit.page.getByText("agent-sandbox shell plain -n default").waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });
});

/** Rows and columns, as `stty size` prints them. */
async function shownSize(page: Page): Promise<string> {
  const [rows, width] = (await page.evaluate(measure)) as [number, number];
  return `${rows} ${width}`;
}

const measure = `(() => {
  const rows = document.querySelectorAll(".xterm-rows > div");
  const { width } = document.querySelector(".xterm-screen").getBoundingClientRect();
  const probe = document.querySelector(".xterm-char-measure-element").getBoundingClientRect();
  return [rows.length, Math.round(width / (probe.width / 32))];
})()`;
