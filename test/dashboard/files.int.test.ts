import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { DashboardBox } from "./dashboard-box.ts";
import { contentOf, hostileFiles, hostileNames, idleSandbox, namespace, runPython, smallPng } from "./files-world.ts";
import { auditPage } from "./page-audit.ts";
import { Visit } from "./visit.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const name = "work";
const patience = { timeout: 60_000 };

describe.skipIf(reason !== undefined)("the files of a sandbox", { timeout: 180_000 }, () => {
  let box: DashboardBox;
  let browser: Browser;
  const folder = mkdtempSync(join(tmpdir(), "agent-sandbox-files-"));

  beforeAll(async () => {
    [browser, box] = await Promise.all([openBrowser(), DashboardBox.start()]);
    await box.apply(idleSandbox(name));
    await box.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=120s");
    await runPython(box, name, hostileFiles);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (path: string, options: BrowserContextOptions = {}): Promise<Visit> => {
    const visit = await Visit.open(browser, await box.loginLink(), options);
    const { page } = visit;
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await goTo(page, path);
    return visit;
  };
  const read = (path: string): Promise<string> =>
    runPython(box, name, `print(open(${JSON.stringify(path)}, newline="").read(), end="")`);

  test("are uploaded, read, edited and downloaded", async () => {
    await runPython(box, name, `import os; os.makedirs("work", exist_ok=True)`);
    await using visit = await open("work");
    const { page } = visit;
    await page.getByText("This folder is empty").waitFor();
    await upload(page, { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("buy milk\r\nbuy bread\r\n") });
    await entry(page, "notes.txt").click();
    const text = page.getByLabel("Content of notes.txt");
    expect(await text.inputValue()).toBe("buy milk\nbuy bread\n");
    expect(await visit.findProblems()).toEqual([]);
    await text.fill("buy milk\nbuy <b>cheese</b>\n");
    await text.press("Control+s");
    await page.getByText('"notes.txt" saved').waitFor();
    // The ends of lines are those of the file.
    expect(await read("work/notes.txt")).toBe("buy milk\r\nbuy <b>cheese</b>\r\n");
    await text.fill("once more\n");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Save", exact: true, disabled: true }).waitFor();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download notes.txt" }).click();
    const download = await saved;
    expect([download.suggestedFilename(), readFileSync(await download.path(), "utf8")]).toEqual([
      "notes.txt",
      "once more\r\n",
    ]);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("are not saved over a change of somebody else", async () => {
    await runPython(box, name, `open("plan.md", "w").write("mine")`);
    await using visit = await open("");
    visit.ignore("status of 412");
    const { page } = visit;
    await entry(page, "plan.md").click();
    const text = page.getByLabel("Content of plan.md");
    await text.fill("edited");
    await runPython(box, name, `open("plan.md", "w").write("theirs")`);
    await text.press("Control+s");
    await page.getByRole("alert").getByText("has changed in the sandbox").waitFor();
    expect(await read("plan.md")).toBe("theirs");
    // The change is not lost by opening another file.
    await page.getByRole("button", { name: "Close the file" }).click();
    const question = page.getByRole("dialog", { name: "Discard your changes?" });
    expect(await visit.findProblems()).toEqual([]);
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await text.inputValue()).toBe("edited");
    await page.getByRole("button", { name: "Save mine over it" }).click();
    await page.getByText('"plan.md" saved').waitFor();
    expect(await read("plan.md")).toBe("edited");
    expect(visit.problems()).toEqual([]);
  });

  test("are shown as images, by what is in them", async () => {
    await using visit = await open("");
    const { page } = visit;
    await upload(page, { name: "dot.dat", mimeType: "image/png", buffer: smallPng });
    await entry(page, "dot.dat").click();
    const image = page.getByRole("img", { name: "Preview of dot.dat" });
    await image.waitFor();
    await page.getByText("10 × 10 pixels").waitFor();
    await expect
      .poll(() => image.evaluate((element) => (element as { naturalWidth?: number }).naturalWidth), patience)
      .toBe(10);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("are dropped, and replace others only when asked", async () => {
    const local = join(folder, "dropped.txt");
    writeFileSync(local, "first");
    await using visit = await open("");
    const { page } = visit;
    await drop(page, [local]);
    await entry(page, "dropped.txt").waitFor();
    writeFileSync(local, "second");
    await drop(page, [local]);
    const transfers = page.getByRole("region", { name: "Transfers" });
    await transfers.getByText("There is a file with this name").waitFor();
    expect(await read("dropped.txt")).toBe("first");
    await transfers.getByRole("button", { name: "Replace dropped.txt" }).click();
    await transfers.getByText("There is a file with this name").waitFor({ state: "detached" });
    await transfers.getByText("Done").nth(1).waitFor();
    expect(await read("dropped.txt")).toBe("second");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("show the progress of an upload, and nothing stays when it is cancelled", async () => {
    await runPython(box, name, `import os; os.makedirs("large", exist_ok=True)`);
    const local = join(folder, "large.bin");
    writeFileSync(local, Buffer.alloc(64 * 1024 ** 2, 1));
    await using visit = await open("large");
    const { page, context } = visit;
    const network = await context.newCDPSession(page);
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 1024 ** 2 };
    await network.send("Network.emulateNetworkConditions", conditions);
    await page.getByLabel("Files to upload").setInputFiles(local);
    const progress = page.getByRole("progressbar", { name: "Progress of large.bin" });
    await progress.waitFor();
    await expect.poll(async () => Number(await progress.getAttribute("value")), patience).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Cancel large.bin" }).click();
    await page.getByRole("region", { name: "Transfers" }).getByText("Cancelled").waitFor();
    const list = (): Promise<string> => runPython(box, name, `import os; print(os.listdir("large"))`);
    while ((await list()).trim() !== "[]");
    expect(await visit.findProblems()).toEqual([]);
  });

  test("are moved in folders, renamed and deleted", async () => {
    await using visit = await open("");
    const { page } = visit;
    await page.getByRole("button", { name: "New folder" }).click();
    let dialog = page.getByRole("dialog", { name: "New folder" });
    await dialog.getByLabel("Name").fill("../escape");
    await dialog.getByText("A name has no slashes").waitFor();
    expect(await dialog.getByRole("button", { name: "Create folder" }).isEnabled()).toBe(false);
    await dialog.getByLabel("Name").fill("reports");
    expect(await visit.findProblems()).toEqual([]);
    await dialog.getByRole("button", { name: "Create folder" }).click();
    await entry(page, "reports").click();
    await page.getByText("This folder is empty").waitFor();
    await page.getByRole("button", { name: "New file" }).click();
    dialog = page.getByRole("dialog", { name: "New file" });
    await dialog.getByLabel("Name").fill("draft.md");
    await dialog.getByRole("button", { name: "Create file" }).click();
    await page.getByLabel("Content of draft.md").waitFor();
    await page.getByRole("button", { name: "Rename draft.md" }).click();
    dialog = page.getByRole("dialog", { name: "Rename draft.md" });
    await dialog.getByLabel("Name").fill("final.md");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await entry(page, "final.md").waitFor();
    expect(await runPython(box, name, `import os; print(os.listdir("reports"))`)).toBe("['final.md']\n");
    await page.getByRole("navigation", { name: "Folder" }).getByRole("button", { name: "workspace" }).click();
    const archive = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download reports" }).click();
    expect((await archive).suggestedFilename()).toBe("reports.tar.gz");
    await page.getByRole("button", { name: "Delete reports" }).click();
    dialog = page.getByRole("dialog", { name: "Delete reports?" });
    expect(await visit.findProblems()).toEqual([]);
    await dialog.getByRole("button", { name: "Delete folder" }).click();
    await entry(page, "reports").waitFor({ state: "detached" });
    expect(await runPython(box, name, `import os; print(os.path.exists("reports"))`)).toBe("False\n");
    expect(visit.problems()).toEqual([]);
  });

  test("with hostile names are shown as text, and are those that open", async () => {
    // The table renders only the rows in view.
    await using visit = await open("hostile", { viewport: { width: 1360, height: 2400 } });
    visit.ignore("status of 404");
    const { page } = visit;
    await entry(page, "picture.svg").waitFor();
    expect(await auditPage(page)).toEqual([]);
    expect(await visit.findProblems()).toEqual([]);
    for (const [index, [, shown]] of hostileNames.entries()) {
      await entry(page, shown).click();
      const text = page.getByLabel(`Content of ${shown}`, { exact: true });
      expect([shown, await text.inputValue()]).toEqual([shown, contentOf(index)]);
    }
    expect(await auditPage(page)).toEqual([]);
    await page
      .getByRole("row", { name: /not-utf-8-/ })
      .getByText("Not UTF-8")
      .waitFor();
    await page
      .getByRole("row", { name: /not-utf-8-/ })
      .getByRole("button")
      .click();
    await page.locator(".file-panel").getByRole("alert").waitFor();
    expect(await auditPage(page)).toEqual([]);
    expect(visit.problems()).toEqual([]);
  });

  test.for([
    ["picture.svg", "<svg xmlns"],
    ["page.png", "<!doctype html><script>"],
    ["hidden.txt", "if (admin\ufffd) { \ufffd[2J }"],
  ])("%s is shown as its source, read only or not, and does nothing", async ([file = "", beginning = ""]) => {
    await using visit = await open("hostile");
    const { page } = visit;
    await entry(page, file).click();
    expect((await page.getByLabel(`Content of ${file}`).inputValue()).startsWith(beginning)).toBe(true);
    expect(await page.locator(".file-panel img").count()).toBe(0);
    expect(await auditPage(page)).toEqual([]);
    expect(await visit.findProblems()).toEqual([]);
  });

  test.for([
    ["bomb.png", "images are shown up to 50 megapixels"],
    ["device.bin", "neither a text in UTF-8 nor an image"],
    ["pipe", "It is not a file"],
  ])("%s is not shown: %s", async ([file = "", why = ""]) => {
    await using visit = await open("hostile");
    const { page } = visit;
    await entry(page, file).click();
    await page.locator(".file-panel").getByText(why).waitFor();
    expect(await auditPage(page)).toEqual([]);
    expect(await visit.findProblems()).toEqual([]);
  });

  test("outside of their root stay there", async () => {
    await using visit = await open("hostile");
    visit.ignore("status of 4");
    const { page } = visit;
    for (const link of ["outside", "passwd", "loop"]) {
      await entry(page, link).click();
      await page.getByText(`Cannot open ${link}:`).waitFor();
    }
    await entry(page, "link-to-inside").click();
    await page.getByText("This folder is empty").waitFor();
    for (const path of ["../../etc", "hostile/../../..", "/etc", "\u0000", "a/\ud800", "hostile/outside"]) {
      await goTo(page, path);
      await page.locator(".file-list").getByRole("alert").or(entry(page, "hostile")).first().waitFor();
      expect(await page.locator("body").innerText()).not.toContain("passwd");
    }
    const address = new URL(`/sandboxes/${namespace}/${name}?view=files&file=..%2F..%2Fetc%2Fpasswd`, page.url());
    await page.goto(address.href);
    await entry(page, "hostile").waitFor();
    expect(await page.locator("body").innerText()).not.toContain("root:");
    expect(await auditPage(page)).toEqual([]);
    expect(visit.problems()).toEqual([]);
  });

  test("are listed up to a limit", async () => {
    await using visit = await open("many");
    await visit.page.getByText("The first 5000 entries").waitFor();
    expect(await visit.findProblems()).toEqual([]);
  });
});

async function goTo(page: Page, path: string): Promise<void> {
  const query = new URLSearchParams({ view: "files", path });
  await page.goto(new URL(`/sandboxes/${namespace}/${name}?${query.toString()}`, page.url()).href);
  await page.getByRole("navigation", { name: "Folder" }).waitFor();
}

function entry(page: Page, shown: string): Locator {
  return page.getByRole("table", { name: "Files" }).getByTitle(shown, { exact: true });
}

async function upload(page: Page, file: { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
  await page.getByLabel("Files to upload").setInputFiles(file);
  await entry(page, file.name).waitFor();
}

/** Drags files of this machine onto the list, as a person does. */
async function drop(page: Page, files: readonly string[]): Promise<void> {
  const input = await page.context().newCDPSession(page);
  const { x, y, width, height } = (await page.locator(".drop-zone").boundingBox()) ?? {
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  };
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  const at = { x: x + width / 2, y: y + Math.min(height, 200) / 2, data };
  for (const type of ["dragEnter", "dragOver"] as const) await input.send("Input.dispatchDragEvent", { type, ...at });
  await page.getByText("Drop to upload to").waitFor();
  await input.send("Input.dispatchDragEvent", { type: "drop", ...at });
}
