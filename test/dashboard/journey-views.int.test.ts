import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { prepareSupply } from "./journey-world.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a person who looks around", { timeout: 180_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await Promise.all([prepareSupply(box), box.createSandbox("seen", { runtime: "Injected" })]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  async function open(path: string, options: { readonly link?: string; readonly colorScheme?: "light" | "dark" } = {}) {
    const { link = await box.loginLink(), ...more } = options;
    const visit = await Visit.open(browser, link, more);
    await visit.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await visit.page.goto(new URL(path, visit.page.url()).href);
    return visit;
  }

  test("scales a pool, and sees its members appear", async () => {
    await using visit = await open("/pools/default/bench");
    const { page } = visit;
    await page.getByText("0 of 0 ready").waitFor();
    const more = page.getByRole("button", { name: "One member more" });
    await more.click();
    await more.click();
    await page.getByRole("button", { name: "Scale", exact: true }).click();
    await page.getByText("2 of 2 ready").waitFor();
    const members = page.getByRole("list", { name: "Members of the pool" }).getByRole("link", { name: /: Ready$/ });
    expect(await members.count()).toBe(2);
    await page
      .getByRole("row", { name: /bench-\w+ .*Running/ })
      .nth(1)
      .waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  test("reads why a bad image fails, and what to do", async () => {
    await using visit = await open("/sandboxes");
    const { page } = visit;
    await page.getByRole("button", { name: "New sandbox" }).click();
    const form = page.getByRole("dialog", { name: "New sandbox" });
    await form.getByLabel("Name", { exact: true }).fill("broken");
    // Nothing listens on this port.
    await form.getByLabel("Image", { exact: true }).fill("127.0.0.1:9/missing:1");
    await form.getByRole("button", { name: "Create sandbox" }).click();
    const why = page.getByRole("region", { name: "Why it is not ready" });
    await why.getByText(/It cannot start: .*cannot pull image "127\.0\.0\.1:9\/missing:1"/).waitFor();
    await why.getByText("Check the name of the image, and whether the machine can reach its registry.").waitFor();
    await why.getByRole("button", { name: "Edit YAML" }).waitFor();
    for (const name of ["Snapshot", "Fork"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    expect(await visit.findProblems()).toEqual([]);
    // In the list the reason takes the place of the figures that it does not have.
    await visit.openPage("Sandboxes");
    const row = page.getByRole("row", { name: /broken .*Failed/ });
    expect(await row.locator('[aria-colspan="3"]').innerText()).toContain("cannot pull image");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("is a user with few rights, is offered nothing else, and reads why", async () => {
    const token = await box.account("visitors", "view");
    box.kubectlWith(JSON.stringify(sandboxOfOthers), "create", "-f", "-");
    const link = await box.loginLinkFor(token, "visitors");
    await using visit = await open("/sandboxes/visitors/theirs", { link });
    const { page } = visit;
    await page.getByRole("tab", { name: "Terminal", exact: true }).click();
    await page.getByText("You may not connect to this sandbox").waitFor();
    await page.getByText("This needs the right to connect to sandboxes in the namespace visitors.").waitFor();
    for (const name of ["Suspend", "Fork", "More actions"]) {
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    }
    expect(await visit.findProblems()).toEqual([]);
    visit.ignore("status of 403");
    // The server refuses what the page does not offer.
    expect(await page.evaluate(deleteSandbox)).toMatch(/sandboxes.* is forbidden.*cannot delete/);
    await page.goto(new URL("/sandboxes/default/seen", page.url()).href);
    await page.getByText("You may not look at this sandbox").waitFor();
    await page.getByText(/is forbidden: .*cannot list.* in the namespace "default"/).waitFor();
    await page.goto(new URL("/machine", page.url()).href);
    await page.getByText("You may not read nodes").waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  const views = [
    "/",
    "/sandboxes",
    "/events",
    "/templates",
    "/pools",
    "/claims",
    "/snapshots",
    "/images",
    "/machine",
    "/templates/default/workshop",
    "/pools/default/bench",
    "/claims/default/claimed",
    "/snapshots/default/kept",
    "/nowhere",
    ...["overview", "logs", "terminal", "files", "processes", "ports", "metrics", "yaml"].map(
      (view) => `/sandboxes/default/seen?view=${view}`,
    ),
  ];
  test("finds a claim and a snapshot with their details", async () => {
    await box.apply(claim, snapshot);
    await using visit = await open("/claims/default/claimed");
    const { page } = visit;
    await page.getByRole("region", { name: "Summary" }).getByRole("link", { name: "bench", exact: true }).waitFor();
    await visit.openPage("Snapshots");
    const order = (title: string): Promise<string | null> =>
      page.getByRole("columnheader", { name: title }).getAttribute("aria-sort");
    expect([await order("Age"), await order("Size")]).toEqual(["ascending", "none"]);
    await page.getByRole("button", { name: "Size" }).click();
    expect(await order("Size")).toBe("descending");
    await page.getByRole("button", { name: "Size" }).click();
    expect(await order("Size")).toBe("ascending");
    await page.getByRole("link", { name: "kept" }).click();
    const summary = page.getByRole("region", { name: "Summary" });
    await summary.getByText("The sandbox stood still for").waitFor();
    await summary.getByRole("link", { name: "seen" }).click();
    await page.getByRole("heading", { level: 1, name: "seen" }).waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });

  test.for(["light", "dark"] as const)("finds every view accessible with the %s theme", async (colorScheme) => {
    await using visit = await open("/", { colorScheme });
    const { page } = visit;
    const found: Record<string, readonly string[]> = {};
    for (const view of views) {
      await page.goto(new URL(view, page.url()).href);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("main .loading").first().waitFor({ state: "detached" });
      found[view] = await visit.findProblems();
      visit.forget();
    }
    expect(found).toEqual(Object.fromEntries(views.map((view) => [view, []])));
  });
});

const claim = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "claimed", namespace: "default" },
  spec: { warmPoolRef: { name: "bench" } },
};

const snapshot = {
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name: "kept", namespace: "default" },
  spec: { sandboxRef: { name: "seen" } },
};

const sandboxOfOthers = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "theirs", namespace: "visitors" },
  spec: { runtime: "Injected", podTemplate: { spec: { containers: [{ name: "main", image: "host" }] } } },
};

const deleteSandbox = `(async () => {
  const { requestToken } = await (await fetch("/session")).json();
  const path = "/kube/apis/agents.x-k8s.io/v1beta1/namespaces/visitors/sandboxes/theirs";
  const answer = await fetch(path, { method: "DELETE", headers: { authorization: "Bearer " + requestToken } });
  return (await answer.json()).message;
})()`;
