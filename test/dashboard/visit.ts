import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

/**
 * A person who visits the dashboard in a window of a new browser profile. It records everything that must not happen: errors of the
 * console, exceptions, violations of the Content-Security-Policy, and requests to other servers.
 */
export class Visit implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #problems: string[] = [];
  readonly #expected: string[] = [dropped];

  private constructor(context: BrowserContext, page: Page) {
    [this.context, this.page] = [context, page];
  }

  /** Opens the login link. */
  static async open(browser: Browser, link: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const visit = new Visit(context, page);
    await visit.#watch(new URL(link).host);
    await page.goto(link);
    return visit;
  }

  /** Ignores problems that contain one of these texts: a request that the server refuses is an error of the console too. */
  ignore(...texts: string[]): void {
    this.#expected.push(...texts);
  }

  problems(): string[] {
    return this.#problems.filter((problem) => !this.#expected.some((text) => problem.includes(text)));
  }

  /** Forgets the problems so far: they were reported. */
  forget(): void {
    this.#problems.length = 0;
  }

  /** The rules of axe-core that the page violates, with the elements. */
  async accessibilityProblems(): Promise<string[]> {
    await this.page.evaluate(axeSource());
    // Colours are compared after transitions.
    await this.page.waitForTimeout(settledMs);
    const { violations } = (await this.page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] })",
    )) as AxeResult;
    return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
  }

  /** All of the above, now. A good page has none. */
  async findProblems(): Promise<string[]> {
    return [...(await this.accessibilityProblems()), ...this.problems()];
  }

  /** Follows a link of the sidebar. */
  async openPage(title: string): Promise<void> {
    await this.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: title }).click();
    await this.page.getByRole("heading", { level: 1, name: title }).waitFor();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }

  async #watch(host: string): Promise<void> {
    const { page } = this;
    const add = (problem: string): void => void this.#problems.push(problem);
    page.on("console", (message) => {
      if (message.type() === "error") add(`console: ${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => add(`exception: ${error.message}`));
    page.on("dialog", (dialog) => {
      add(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("requestfailed", (request) => {
      if (request.failure()?.errorText === dropped && request.resourceType() === "script") void reloadIfEmpty(page);
    });
    page.on("popup", (popup) => add(`window: ${popup.url()}`));
    page.on("request", (request) => {
      const url = new URL(request.url());
      const isOwn = url.host === host || ["data:", "blob:"].includes(url.protocol);
      if (!isOwn) add(`request: ${request.url()}`);
    });
    page.on("websocket", (socket) => new URL(socket.url()).host !== host && add(`socket: ${socket.url()}`));
    await page.exposeFunction("reportViolation", (text: string) => add(`policy: ${text}`));
    await page.addInitScript({ content: reportViolations });
  }
}

/** Chromium drops connections when an interface of the machine appears: other tests start sandboxes. */
const dropped = "net::ERR_NETWORK_CHANGED";

/** The page tries again what it loads itself. Without its first scripts it is empty. */
async function reloadIfEmpty(page: Page): Promise<void> {
  const isEmpty = await page.evaluate("document.getElementById('root')?.childElementCount === 0").catch(() => false);
  if (isEmpty === true) await page.reload().catch(() => undefined);
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

const settledMs = 300;

const reportViolations = `document.addEventListener("securitypolicyviolation", (event) =>
  reportViolation(event.effectiveDirective + " " + event.blockedURI));`;

let source: string | undefined;
function axeSource(): string {
  source ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  return source;
}
