import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { AttackerPage } from "./attacker-page.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { hostileLine, hostileText, longWord, visibleMarkup } from "./hostile-content.ts";
import { loud, makeHostile, namespace } from "./hostile-world.ts";
import { auditPage, sidebarLinks } from "./page-audit.ts";
import { ShellScreen } from "./shell-screen.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const objects = [`sandboxes/${namespace}/${loud}`].concat(
  ["no-image", "w".repeat(63), "ended", "not-ready"].map((name) => `sandboxes/${namespace}/${name}`),
  ["templates/template", "pools/pool", "claims/claim", "snapshots/snapshot"].map((path) =>
    path.replace("/", `/${namespace}/`),
  ),
);

/** Buttons that open a dialog with texts of the tenant, or about its objects. */
const dialogs: readonly (readonly [path: string, button: string])[] = [
  ...["Snapshot", "Fork", "Menu: Restart", "Menu: Lifetime", "Menu: Delete"].map(
    (button) => [`/sandboxes/${namespace}/${loud}`, button] as const,
  ),
  [`/templates/${namespace}/template`, "Delete"],
  [`/pools/${namespace}/pool`, "Delete"],
  [`/claims/${namespace}/claim`, "Delete"],
  [`/snapshots/${namespace}/snapshot`, "Delete"],
  ["/images", "Details of"],
  ["/templates", "Start sandbox from template"],
  ["/sandboxes", "New sandbox"],
];

/** These views show texts that the tenant chose freely, or that repeat them. */
const showingMarkup = ["/", "/sandboxes", "/events", "/images", ...objects.slice(-4).map((path) => `/${path}`)];

describe.skipIf(reason !== undefined)("a hostile tenant", { timeout: 180_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await makeHostile(box);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  const open = async (options = {}): Promise<Visit> => {
    const visit = await Visit.open(browser, await box.loginLink(), options);
    await visit.page.getByRole("heading", { level: 1 }).waitFor();
    return visit;
  };

  test("changes no page of an administrator with the texts of objects, events and nodes", async () => {
    await using visit = await open();
    const { page } = visit;
    await page.getByRole("link", { name: "Machine" }).waitFor();
    const links = await sidebarLinks(page);
    const views = [...links, ...objects.map((path) => `/${path}`)];
    const found: Record<string, readonly string[]> = {};
    const withMarkup: string[] = [];
    for (const view of views) {
      await goTo(page, view);
      const problems = await auditParts(page);
      found[view] = [...problems, ...visit.problems()];
      if ((await page.locator("body").innerText()).includes(visibleMarkup)) withMarkup.push(view);
      expect(await sidebarLinks(page)).toEqual(links);
      visit.forget();
    }
    expect(found).toEqual(Object.fromEntries(views.map((view) => [view, []])));
    // These pages did show the texts of the tenant.
    expect(withMarkup).toEqual(expect.arrayContaining(showingMarkup));
  });

  test("changes nothing with its processes, in the palette and in the dialogs of an administrator", async () => {
    await using visit = await open();
    const { page } = visit;
    const problems: string[] = [];
    const audit = async (what: string): Promise<void> =>
      void problems.push(...(await auditPage(page)).map((problem) => `${what}: ${problem}`));
    await goTo(page, `/sandboxes/${namespace}/${loud}?view=processes`);
    await page.getByLabel("Which processes").selectOption("all");
    await page.getByRole("table", { name: "All processes" }).getByText(visibleMarkup).first().waitFor();
    await audit("processes");
    for (const query of [namespace, hostileLine, longWord]) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search or run a command" }).fill(query);
      await page.waitForTimeout(300);
      await audit(`palette with ${query.slice(0, 40)}`);
      await page.keyboard.press("Escape");
    }
    for (const [path, name] of dialogs) {
      if (!page.url().endsWith(path)) await goTo(page, path);
      if (name.startsWith("Menu: ")) await page.getByRole("button", { name: "More actions" }).click();
      const opener = name.startsWith("Menu: ")
        ? page.getByRole("menuitem", { name: name.slice(6) })
        : page.getByRole("button", { name }).first();
      await opener.click();
      await page.getByRole("dialog").waitFor();
      await audit(`dialog ${name} of ${path}`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    expect([...problems, ...visit.problems()]).toEqual([]);
  });

  test("changes nothing with a sentence of the server that repeats its text", async () => {
    await using visit = await open();
    visit.ignore("status of 422");
    const { page } = visit;
    const path = `/sandboxes/${namespace}/${loud}`;
    const body = JSON.stringify({ kind: "Status", message: hostileText + longWord, reason: hostileLine });
    await page.route(`**/kube/**/namespaces/${namespace}/sandboxes/${loud}*`, (route) =>
      route.request().method() === "PATCH"
        ? route.fulfill({ status: 422, contentType: "application/json", body })
        : route.fallback(),
    );
    await goTo(page, path);
    await page.getByRole("button", { name: "Suspend" }).click();
    const message = page.locator(".toast-failed");
    expect(await message.innerText()).toContain(visibleMarkup);
    expect(await auditPage(page)).toEqual([]);
    // However long it is, it covers nothing that is needed to go on.
    expect((await message.boundingBox())?.height).toBeLessThan(200);
    await message.getByRole("button", { name: "Close message" }).click();
    await message.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Lifetime" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Change lifetime" }).click();
    await message.waitFor();
    await message.getByRole("button", { name: "Close message" }).click();
    expect(await auditPage(page)).toEqual([]);
    expect(visit.problems()).toEqual([]);
  });

  const addresses: readonly string[] = [
    `/sandboxes/${encodeURIComponent(hostileLine)}/${encodeURIComponent(hostileLine)}`,
    `/events?q=${encodeURIComponent(hostileLine)}&sort=${encodeURIComponent(hostileLine)}`,
    "/sandboxes?sort=__proto__&state=__proto__",
    "/sandboxes?sort=-constructor&state=constructor&q=__proto__=constructor",
    "/sandboxes/..%2f..%2fkube/%00",
    "/sandboxes/%zz/%e0%a4%a",
    "/javascript:window.__pwned=1",
    "/login?code=%3Cscript%3E",
    "//evil.example/%2e%2e",
    `/nowhere?q=${longWord}#${hostileLine}`,
  ];
  test("does nothing with an address that the administrator opens", async () => {
    await using visit = await open();
    visit.ignore("status of 4");
    const { page } = visit;
    const origin = new URL(page.url()).origin;
    const found: Record<string, readonly string[]> = {};
    for (const address of addresses) {
      await page.goto(origin + address);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await settle(page);
      found[address] = [...(await auditPage(page)), ...visit.problems()];
      expect(await page.getByText("This part of the page failed").count()).toBe(0);
      visit.forget();
    }
    expect(found).toEqual(Object.fromEntries(addresses.map((address) => [address, []])));
  });

  test.for([false, true])("changes nothing outside of a terminal, with a screen reader: %s", async (isReader) => {
    await using visit = await open({ permissions: ["clipboard-read", "clipboard-write"] });
    const { page } = visit;
    await page.getByRole("link", { name: "Machine" }).waitFor();
    const links = await sidebarLinks(page);
    await page.evaluate(`navigator.clipboard.writeText("mine")`);
    await goTo(page, `/sandboxes/${namespace}/${loud}`);
    const shell = await ShellScreen.open(page);
    if (isReader) await page.getByRole("button", { name: "Read the output to screen readers" }).click();
    await shell.enter("python3 /workspace/attack.py");
    // The program saw no answer with the title, the folder or the clipboard.
    await shell.waitFor("survived []");
    expect(await auditPage(page)).toEqual([]);
    // The text that was a link is text.
    const text = await page.locator(".xterm-rows").getByText("open-link").boundingBox();
    for (const modifier of ["Control", "Meta", "Alt"]) {
      await page.keyboard.down(modifier);
      await page.mouse.click((text?.x ?? 0) + 5, (text?.y ?? 0) + 5);
      await page.keyboard.up(modifier);
    }
    expect(await page.locator("main a[target], .xterm a").count()).toBe(0);
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("mine");
    expect(await sidebarLinks(page)).toEqual(links);
    expect(await shell.run("echo still $((40 + 2))")).toBe("still 42");
    expect(await auditPage(page)).toEqual([]);
    expect(visit.problems()).toEqual([]);
  });

  test("does nothing with an answer of a server or a sandbox that is opened in a window", async () => {
    await using visit = await open();
    visit.ignore("status of 403", "net::ERR_ABORTED");
    const { page, context } = visit;
    const token = (await page.evaluate(readRequestToken)) as string;
    const file = (name: string): string => `/runtime/v1/files/${name}`;
    const targets = [`/kube/api/v1/namespaces/${namespace}/events`, file("page.html"), file("image.svg")];
    for (const target of targets) {
      const answer = await page.goto(new URL(target, page.url()).href);
      expect([target, answer?.status()]).toEqual([target, 403]);
      expect(await page.evaluate("window.__pwned")).toBeUndefined();
    }
    // A browser cannot be made to send these headers with a navigation. If it did, the answer would be a file to save.
    const place = { "x-sandbox-id": loud, "x-sandbox-namespace": namespace, "x-sandbox-port": "8080" };
    await context.setExtraHTTPHeaders({ ...place, authorization: `Bearer ${token}` });
    for (const target of targets) {
      await page.goto(new URL("/", page.url()).href);
      const download = page.waitForEvent("download");
      await page.evaluate(`location.href = ${JSON.stringify(target)}`);
      expect((await download).url()).toContain(target);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await auditPage(page)).toEqual([]);
    }
    // Without the header that makes it a file, the policy of the answer alone keeps it from running.
    visit.ignore("sandboxed", "Content Security Policy", "policy: ");
    for (const target of targets.slice(1)) {
      await page.goto(new URL("/", page.url()).href);
      const { policy, body } =
        (await page.evaluate(`fetch("${target}", { headers: { authorization: "Bearer ${token}" } })
        .then(async (answer) => ({ policy: answer.headers.get("content-security-policy"), body: await answer.text() }))`)) as Answer;
      expect(body).toContain("__pwned");
      const headers = { "content-security-policy": policy, "content-type": "text/html" };
      await page.route(`**${target}`, (route) => route.fulfill({ headers, body }));
      await page.evaluate(`location.href = "${target}"`);
      await page.waitForURL(`**${target}`);
      expect(await page.title()).not.toBe("pwned");
      expect(await page.evaluate("[window.__pwned, origin]")).toEqual([undefined, "null"]);
    }
    expect(visit.problems()).toEqual([]);
  });

  test.for(["evil.localhost", "evil.agent-sandbox-system.localhost", "127.0.0.1"])(
    "with a page at %s in the same browser gets nothing of the session",
    async (host) => {
      await using attacker = await AttackerPage.start(host);
      const link = await box.loginLink();
      await using visit = await open();
      const { page, context } = visit;
      const cookies = await context.cookies();
      const dashboard = new URL(page.url()).origin;
      const evil = await context.newPage();
      await evil.goto(`${attacker.url}?dashboard=${dashboard}&link=${encodeURIComponent(link)}`);
      const outcome = await evil.waitForFunction("window.outcome");
      expect(await outcome.jsonValue()).toEqual(AttackerPage.nothing);
      expect(attacker.received.filter((text) => text.includes("agent-sandbox-dashboard="))).toEqual([]);
      // The attacker did not end or replace the session, and did not use up the link.
      expect(await context.cookies(dashboard)).toEqual(cookies);
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      expect(await auditPage(page)).toEqual([]);
      await using other = await Visit.open(browser, link);
      await other.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      expect(visit.problems()).toEqual([]);
    },
  );
});

// Chromium drops requests when the interface of a sandbox appears on the machine.
const readRequestToken = `(async function read() {
  return fetch("/session").then(async (answer) => (await answer.json()).requestToken, read);
})()`;

interface Answer {
  readonly policy: string;
  readonly body: string;
}

/** Opens an address of the dashboard, and waits until the page has loaded its data. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(new URL(path, page.url()).href);
  const heading = page.getByRole("heading", { level: 1 });
  await heading.waitFor().catch(async (cause: unknown) => {
    throw new Error(`${path} has no heading: ${await page.locator("body").innerText()}`, { cause });
  });
  await settle(page);
}

async function settle(page: Page): Promise<void> {
  const loading = page.locator("main .loading").first();
  await loading.waitFor({ state: "detached" }).catch(async (cause: unknown) => {
    throw new Error(`${page.url()} does not load: ${await page.locator("main").innerText()}`, { cause });
  });
  await page.waitForTimeout(500);
}

/** Looks at a page, and at all of its tabs. */
async function auditParts(page: Page): Promise<string[]> {
  const problems = await auditPage(page);
  const tabs = page.locator("main").getByRole("tab");
  for (let index = 0; index < (await tabs.count()); index += 1) {
    const tab = tabs.nth(index);
    const name = await tab.innerText();
    await tab.click();
    await settle(page);
    problems.push(...(await auditPage(page)).map((problem) => `${name}: ${problem}`));
  }
  return problems;
}
