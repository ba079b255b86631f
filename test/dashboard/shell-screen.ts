import type { Page } from "playwright-core";
import { vi } from "vitest";

/** The terminal that a page shows. */
export class ShellScreen {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  /** Opens the terminal of the sandbox that the page shows, and waits for the prompt. */
  static async open(page: Page): Promise<ShellScreen> {
    await page.getByRole("tab", { name: "Terminal", exact: true }).click();
    const screen = new ShellScreen(page);
    await screen.waitForState("Connected");
    await screen.waitForPrompt();
    return screen;
  }

  /** What the program drew, without the spaces at the ends of lines. */
  async lines(): Promise<string[]> {
    const rows = (await this.#page.evaluate(readRows)) as string[];
    return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd());
  }

  async text(): Promise<string> {
    return (await this.lines()).join("\n").trimEnd();
  }

  async waitFor(text: string | RegExp): Promise<string> {
    return vi.waitFor(
      async () => {
        const shown = await this.text();
        const isThere = typeof text === "string" ? shown.includes(text) : text.test(shown);
        if (!isThere) throw new Error(`The terminal does not show ${text} but:\n${shown}`);
        return shown;
      },
      { timeout: 60_000 },
    );
  }

  waitForPrompt(): Promise<string> {
    return this.waitFor(/[#$]$/);
  }

  async waitForState(state: string): Promise<void> {
    const shown = this.#page.locator(".terminal-state").getByText(state, { exact: true });
    await shown.waitFor().catch(async (cause: unknown) => {
      throw new Error(`the terminal is not ${state}: ${await this.#page.locator("main").innerText()}`, { cause });
    });
  }

  /** Clicks into the terminal and types a line. */
  async enter(line: string): Promise<void> {
    await this.focus();
    await this.#page.keyboard.type(`${line}\n`);
  }

  async focus(): Promise<void> {
    await this.#page.locator(".xterm-screen").click();
  }

  /** Runs a command and returns what it printed. */
  async run(command: string): Promise<string> {
    lastMark += 1;
    // The typed line does not contain the texts that the shell prints.
    await this.enter(`clear; echo begin''${lastMark}; ${command}; echo end''${lastMark}`);
    const shown = await this.waitFor(`end${lastMark}`);
    const [, printed = ""] = new RegExp(`^begin${lastMark}\\n([^]*?)\\n?end${lastMark}`, "m").exec(shown) ?? [];
    return printed;
  }
}

let lastMark = 0;

const readRows = `[...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent)`;
