import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { prepareSupply } from "./journey-world.ts";
import { keepPicture } from "./picture.ts";
import { ShellScreen } from "./shell-screen.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** One visit from the login to the restart of the box: each test continues where the one before has ended. */
describe.skipIf(reason !== undefined)("a person at work", { timeout: 180_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;
  let visit: Visit;
  let page: Page;
  let shell: ShellScreen;
  /** The sandbox of the visit. */
  let name: string;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await prepareSupply(box);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  const waitForState = (state: string): Promise<void> =>
    page.locator(".sandbox-subtitle").getByText(state, { exact: true }).waitFor();
  const openView = (title: string): Promise<void> => page.getByRole("tab", { name: title, exact: true }).click();
  const expectNoProblems = async (): Promise<void> => expect(await visit.findProblems()).toEqual([]);

  test("starts a sandbox from a template in two clicks, and sees it become ready", async () => {
    visit = await Visit.open(browser, await box.loginLink());
    ({ page } = visit);
    await visit.openPage("Templates");
    await page.getByRole("button", { name: "Start sandbox from workshop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start sandbox" }).click();
    await openSandbox(page);
    name = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await waitForState("Running");
    await page.getByRole("region", { name: "Timeline" }).getByText("Ready").first().waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  test("types in the terminal", async () => {
    shell = await ShellScreen.open(page);
    expect(await shell.run("tool=hammer; echo $tool $((6 * 7)) | tee /workspace/kept")).toBe("hammer 42");
    await expectNoProblems();
  });

  test("edits a file with vi, whose screen is drawn correctly", async () => {
    await shell.enter("clear; vi -u NONE -N /workspace/notes");
    await shell.waitFor(/^~$/m);
    await page.keyboard.type("ifirst line\nsecond line");
    await shell.waitFor("second line");
    await shell.waitFor("-- INSERT --");
    const lines = await shell.lines();
    expect(lines.slice(0, 2)).toEqual(["first line", "second line"]);
    expect(new Set(lines.slice(2, -1))).toEqual(new Set(["~"]));
    expect(lines.at(-1)).toMatch(/^-- INSERT --/);
    await keepPicture(page, "vi");
    await page.keyboard.press("Escape");
    await page.keyboard.type("gg0xddp:wq\n");
    await shell.waitForPrompt();
    expect(await shell.run("cat /workspace/notes")).toBe("second line\nirst line");
    await expectNoProblems();
  });

  test("looks at processes with top, whose screen is drawn correctly", async () => {
    await shell.enter("clear; top -d 600");
    await shell.waitFor(/PID USER .*COMMAND/);
    await shell.waitFor(/\d+ root .* top$/m);
    const lines = await shell.lines();
    expect(lines[0]).toMatch(/^top - \d\d:\d\d:\d\d up .* load average: /);
    expect(lines[1]).toMatch(/^Tasks: +\d+ total/);
    expect(lines.findIndex((line) => line.includes("PID USER"))).toBe(6);
    expect(lines.filter((line) => /^ *\d+ root /.test(line)).length).toBeGreaterThan(2);
    await keepPicture(page, "top");
    await page.keyboard.press("q");
    await shell.waitForPrompt();
    await expectNoProblems();
  });

  test("starts a web server, and opens its port in a tab", async () => {
    await shell.run("cd /workspace && (python3 -m http.server 8000 >/dev/null 2>&1 &)");
    await openView("Ports");
    const popup = page.waitForEvent("popup");
    await page.getByRole("button", { name: "Open port 8000 in a new tab" }).click();
    const opened = await popup;
    visit.ignore(`window: ${opened.url()}`);
    await opened.getByRole("link", { name: "notes" }).waitFor();
    expect(new URL(opened.url()).hostname).toBe(`8000-${name}.default.localhost`);
    expect(new URL(opened.url()).search).toBe("");
    await opened.close();
    await expectNoProblems();
  });

  test("suspends it, wakes it, and finds the terminal as it was", async () => {
    await openView("Terminal");
    await shell.waitForState("Connected");
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await waitForState("Sleeping");
    await page.getByRole("tabpanel").getByText("It sleeps").waitFor();
    await expectNoProblems();
    await page.getByRole("button", { name: "Resume" }).click();
    await waitForState("Running");
    await shell.waitForState("Connected");
    expect(await shell.run("echo $tool")).toBe("hammer");
    await expectNoProblems();
  });

  test("forks it, and works in the fork without changing the source", async () => {
    await page.getByRole("button", { name: "Fork" }).click();
    const dialog = page.getByRole("dialog", { name: "Fork this sandbox" });
    await dialog.getByLabel("Name of the fork").fill("the-fork");
    await expectNoProblems();
    await dialog.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { level: 1, name: "the-fork" }).waitFor();
    await waitForState("Running");
    const fork = await ShellScreen.open(page);
    expect(await fork.run("cat /workspace/kept; rm /workspace/kept; ls /workspace")).toBe("hammer 42\nnotes");
    await expectNoProblems();
    await page.goto(new URL(`/sandboxes/default/${name}`, page.url()).href);
    shell = await ShellScreen.open(page);
    expect(await shell.run("cat /workspace/kept")).toBe("hammer 42");
  });

  test("sees the box restart, and goes on in the same shell", async () => {
    visit.ignore("WebSocket connection", "status of 50", "net::ERR_", "status of 401");
    await shell.run("tool=saw");
    // Without a port of its own it would get another free one.
    const dashboard = new URL(box.address).host;
    process.kill(box.box.pid(), "SIGKILL");
    await page.getByText(/^Reconnecting: data of/).waitFor();
    await shell.waitForState("Reconnecting");
    await box.up("--dashboard-listen", dashboard);
    await page.locator(".connection").getByText("Live", { exact: true }).waitFor();
    await shell.waitForState("Connected");
    expect(await shell.run("echo $tool")).toBe("saw");
    await expectNoProblems();
  });
});

/** Opens the sandbox of a new claim. The page of the claim is shown if the sandbox takes longer. */
async function openSandbox(page: Page): Promise<void> {
  await page.waitForURL(/\/(?:claims|sandboxes)\/default\//);
  if (new URL(page.url()).pathname.startsWith("/claims/"))
    await page.getByRole("button", { name: "Open sandbox" }).click();
  await page.waitForURL(/\/sandboxes\/default\//);
}
