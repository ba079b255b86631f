import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a person with a new box", { timeout: 120_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  test("logs in with the link of the command line, once, and sees what to do first", async () => {
    const link = await box.loginLink();
    await using visit = await Visit.open(browser, link);
    const { page } = visit;
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(new URL(page.url()).host).toMatch(/^dashboard\.agent-sandbox-system\.localhost:\d+$/);
    expect(page.url()).not.toContain("code");
    await page.getByText("agent-sandbox create my-sandbox").waitFor();
    expect(await visit.findProblems()).toEqual([]);
    await using second = await Visit.open(browser, link);
    second.ignore("status of 401");
    await second.page.getByRole("heading", { name: "Log in to Agent Sandbox" }).waitFor();
    expect(await second.findProblems()).toEqual([]);
  });

  test("creates a sandbox with the form, and sees it become ready", async () => {
    await using visit = await Visit.open(browser, await box.loginLink());
    const { page } = visit;
    await page.getByRole("button", { name: "New sandbox" }).click();
    const form = page.getByRole("dialog", { name: "New sandbox" });
    await form.getByLabel("Name", { exact: true }).fill("from-the-form");
    await form.getByLabel("Memory limit").fill("256Mi");
    await form.getByLabel("YAML", { exact: true }).getByText("name: from-the-form").waitFor();
    expect(await form.getByLabel("YAML", { exact: true }).innerText()).toContain("memory: 256Mi");
    expect(await visit.findProblems()).toEqual([]);
    await form.getByRole("button", { name: "Create sandbox" }).click();
    await page.getByRole("heading", { level: 1, name: "from-the-form" }).waitFor();
    await visit.openPage("Sandboxes");
    await page.getByRole("row", { name: /from-the-form .*Running/ }).waitFor();
    await page
      .getByRole("button", { name: /Running/ })
      .getByText("1")
      .waitFor();
    const { spec } = JSON.parse(await box.run("get", "sandbox", "from-the-form", "-o", "json")) as {
      spec: { podTemplate: { spec: { containers: object[] } } };
    };
    expect(spec.podTemplate.spec.containers[0]).toMatchObject({ resources: { limits: { memory: "256Mi" } } });
    expect(await visit.findProblems()).toEqual([]);
  });

  test("sees the memory and CPU of the sandbox, with its limit", async () => {
    await using visit = await Visit.open(browser, await box.loginLink());
    const { page } = visit;
    await visit.openPage("Sandboxes");
    await page.getByRole("link", { name: "from-the-form" }).click();
    await page.getByRole("tab", { name: "Metrics" }).click();
    const memory = page.getByRole("region", { name: "Memory" });
    await memory.getByText("256 MiB").waitFor();
    expect(await memory.locator("dl").innerText()).toMatch(/Now\s+[\d.]+ [KM]iB\s+Average/);
    await page.getByRole("region", { name: "CPU" }).getByText("none").waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  test("reads why the server refuses a name, and can correct it", async () => {
    await using visit = await Visit.open(browser, await box.loginLink());
    visit.ignore("status of 422");
    const { page } = visit;
    await page.getByRole("button", { name: "New sandbox" }).click();
    const form = page.getByRole("dialog", { name: "New sandbox" });
    await form.getByLabel("Name", { exact: true }).fill("Not A Name");
    await form.getByRole("button", { name: "Create sandbox" }).click();
    expect(await form.getByRole("alert").innerText()).toContain("metadata.name");
    expect(await visit.findProblems()).toEqual([]);
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });
  });

  test.for(["light", "dark"] as const)("uses it on a telephone with the %s theme", async (colorScheme) => {
    const viewport = { width: 390, height: 780 };
    await using visit = await Visit.open(browser, await box.loginLink(), { viewport, colorScheme });
    const { page } = visit;
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(await page.locator("html").getAttribute("data-theme")).toBe(colorScheme);
    expect(await visit.findProblems()).toEqual([]);
    await page.getByRole("button", { name: "Open navigation" }).click();
    await visit.openPage("Events");
    const width = (await page.evaluate("document.documentElement.scrollWidth")) as number;
    expect(width).toBeLessThanOrEqual(viewport.width);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("chooses the theme and the time zone, and finds both again", async () => {
    await using visit = await Visit.open(browser, await box.loginLink(), { colorScheme: "light" });
    const { page } = visit;
    await page.getByRole("button", { name: "Dark theme" }).click();
    await page.getByRole("button", { name: "Times are local: switch" }).click();
    await page.reload();
    await page.getByRole("button", { name: "Times are UTC: switch" }).waitFor();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    const stored = (await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")) as string;
    expect(JSON.parse(stored)).toEqual({ theme: "dark", zone: "utc" });
    expect(await visit.findProblems()).toEqual([]);
  });

  test("logs out, and is logged out after a reload", async () => {
    await using visit = await Visit.open(browser, await box.loginLink());
    const { page } = visit;
    visit.ignore("status of 401");
    await page.getByRole("button", { name: /^Log out/ }).click();
    await page.getByRole("heading", { name: "Log in to Agent Sandbox" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Log in to Agent Sandbox" }).waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });
});
