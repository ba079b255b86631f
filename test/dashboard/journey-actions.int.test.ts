import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { prepareSupply } from "./journey-world.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("a person who changes a sandbox", { timeout: 180_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await prepareSupply(box);
    await box.apply(claim);
    await Promise.all(["worker", "second"].map((name) => box.createSandbox(name)));
    await box.run("wait", "sandboxclaim/claimed", "--for=condition=Ready", "--timeout=90s");
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  async function open(name: string): Promise<Visit> {
    const visit = await Visit.open(browser, await box.loginLink());
    await visit.openPage("Sandboxes");
    await visit.page.getByRole("link", { name, exact: true }).click();
    await visit.page.getByRole("heading", { level: 1, name }).waitFor();
    return visit;
  }
  const read = (...words: string[]): string => box.kubectl("get", ...words);

  test("takes a snapshot, leaves the page, and is told when it is there", async () => {
    await using visit = await open("worker");
    const { page } = visit;
    await page.getByRole("button", { name: "Snapshot" }).click();
    const dialog = page.getByRole("dialog", { name: "Take a snapshot" });
    await dialog.getByLabel("Name of the snapshot").fill("taken");
    await dialog.getByRole("button", { name: "Take snapshot" }).click();
    await visit.openPage("Events");
    await toastOf(page, 'Snapshot "taken" taken').waitFor();
    const ready = "-o=jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    expect(read("sandboxsnapshot", "taken", ready)).toBe("True");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("forks it, leaves the page, and stays where they are", async () => {
    await using visit = await open("worker");
    const { page } = visit;
    await page.getByRole("button", { name: "Fork" }).click();
    const dialog = page.getByRole("dialog", { name: "Fork this sandbox" });
    await dialog.getByLabel("Name of the fork").fill("forked");
    await dialog.getByRole("button", { name: "Fork" }).click();
    await visit.openPage("Machine");
    await toastOf(page, 'Fork "forked" runs').waitFor();
    await page.getByRole("heading", { level: 1, name: "Machine" }).waitFor();
    expect(read("sandbox", "forked", "-o=jsonpath={.spec.restoreFrom.snapshotRef.name}")).toMatch(/^worker-fork-/);
    expect(read("sandboxsnapshots", "-o=name")).not.toContain("worker-fork-");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("extends the lifetime of a sandbox, and of a claim", async () => {
    const held = read("sandboxclaim", "claimed", "-o=jsonpath={.status.sandbox.name}");
    for (const [name, time] of [
      ["worker", ["sandbox", "worker", "-o=jsonpath={.spec.shutdownTime}"]],
      [held, ["sandboxclaim", "claimed", "-o=jsonpath={.spec.lifecycle.shutdownTime}"]],
    ] as const) {
      await using visit = await open(name);
      const { page } = visit;
      expect(read(...time)).toBe("");
      await chooseAction(page, "Lifetime");
      const dialog = page.getByRole("dialog", { name: "Change the lifetime" });
      await dialog.getByLabel("New end").selectOption("In 7 days");
      await dialog.getByRole("button", { name: "Change lifetime" }).click();
      await toastOf(page, `"${name}" has a new end`).waitFor();
      await page.locator("dl").getByText("Ends in").waitFor();
      expect(read(...time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(await visit.findProblems()).toEqual([]);
    }
  });

  test("edits the YAML: the server tries it, the page shows the difference, and then it is applied", async () => {
    await using visit = await open("worker");
    visit.ignore("status of 422");
    const { page } = visit;
    await page.getByRole("tab", { name: "YAML" }).click();
    const editor = page.getByRole("textbox", { name: "YAML" });
    const text = await editor.inputValue();
    const review = page.getByRole("button", { name: "Review changes" });
    await editor.fill(text.replace("spec:\n", "spec:\n  operatingMode: Dancing\n"));
    await review.click();
    await page.getByRole("alert").getByText("operatingMode").waitFor();
    await editor.fill(text.replace("  name: worker\n", "  name: worker\n  labels:\n    team: blue\n"));
    await review.click();
    const dialog = page.getByRole("dialog", { name: "Apply these changes?" });
    expect(await dialog.getByLabel("Changes").innerText()).toMatch(/\+ +labels:\n+\+ +team: blue\n/);
    const label = ["sandbox", "worker", "-o=jsonpath={.metadata.labels.team}"];
    expect(read(...label)).toBe("");
    expect(await visit.findProblems()).toEqual([]);
    await dialog.getByRole("button", { name: "Apply" }).click();
    await toastOf(page, '"worker" changed').waitFor();
    expect(read(...label)).toBe("blue");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("cannot edit as YAML what a text field would not show", async () => {
    const note = "safe\u202eexe.fdp";
    box.kubectl("annotate", "sandbox", "worker", `example.com/note=${note}`);
    await using visit = await open("worker");
    const { page } = visit;
    await page.getByRole("tab", { name: "YAML" }).click();
    await page.getByText(/^It has characters that are hidden/).waitFor();
    const editor = page.getByRole("textbox", { name: "YAML" });
    expect(await editor.inputValue()).toContain("safe\ufffdexe.fdp");
    expect(await editor.isEditable()).toBe(false);
    expect(await page.getByRole("button", { name: "Review changes" }).count()).toBe(0);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("deletes it, reads that it is gone, and is back at the list", async () => {
    await using visit = await open("worker");
    const { page } = visit;
    await deleteIt(page, "worker");
    await toastOf(page, '"worker" deleted').waitFor();
    await page.getByRole("heading", { level: 1, name: "Sandboxes" }).waitFor();
    expect(await page.getByRole("link", { name: "worker", exact: true }).count()).toBe(0);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("deletes another, leaves the page, and stays where they are", async () => {
    await using visit = await open("second");
    const { page } = visit;
    await deleteIt(page, "second");
    await visit.openPage("Pools");
    await toastOf(page, '"second" deleted').waitFor();
    expect(new URL(page.url()).pathname).toBe("/pools");
    expect(await visit.findProblems()).toEqual([]);
  });
});

const claim = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  metadata: { name: "claimed", namespace: "default" },
  spec: { warmPoolRef: { name: "bench" } },
};

const toastOf = (page: Page, text: string) => page.getByRole("status").getByText(text);

async function chooseAction(page: Page, title: string): Promise<void> {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: title }).click();
}

async function deleteIt(page: Page, name: string): Promise<void> {
  await chooseAction(page, "Delete");
  const dialog = page.getByRole("dialog", { name: "Delete this sandbox" });
  await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
  await dialog.getByRole("button", { name: "Delete" }).click();
}
