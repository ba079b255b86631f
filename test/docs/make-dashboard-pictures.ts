// Takes the pictures of docs/dashboard.md: every view of a box that a team uses, in both themes. `make dashboard-pictures`
// With names of views as arguments it takes only those.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { root } from "../../scripts/docs/pages.ts";
import { DashboardBox } from "../dashboard/dashboard-box.ts";
import { Visit } from "../dashboard/visit.ts";
import { whyNoBox } from "../e2e/box.ts";
import { fillBox } from "./dashboard/demo-world.ts";
import { pictureTools } from "./dashboard/picture-tools.ts";
import { takePictures } from "./dashboard/take-pictures.ts";

const reason = whyNoBox();
if (reason !== undefined) throw new Error(`Cannot take the pictures: the box ${reason}`);

const folder = join(root, "docs/pictures/dashboard");
const cache = join(root, ".cache/dashboard-pictures");
/** The plots need something to show. */
const recordedMs = 30_000;
const mostBytes = 4 * 1024 ** 2;

mkdirSync(folder, { recursive: true });
const { fonts, shrink } = pictureTools(cache);
const env = { ...process.env, XDG_DATA_HOME: fonts, XDG_CONFIG_HOME: cache, XDG_CACHE_HOME: cache };
const executablePath = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
await using browser = await chromium.launch({ executablePath, args: ["--disable-gpu"], env });
await using box = await DashboardBox.start();
await fillBox(box);
await using visit = await Visit.open(browser, await box.loginLink());
await visit.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
await sleep(recordedMs);
await box.run("resume", "web-search");
await sleep(recordedMs);
const bytes = await takePictures(visit.page, { folder, shrink, names: process.argv.slice(2) });
console.info(`${folder}: ${Math.round(bytes / 1024)} KiB`);
if (bytes > mostBytes) throw new Error("The pictures are too large for a repository");
const problems = visit.problems();
if (problems.length > 0) throw new Error(`The page had problems: ${problems.join("\n")}`);
