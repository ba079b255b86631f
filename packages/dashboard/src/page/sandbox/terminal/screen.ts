import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { OutputCleaner } from "./clean-output.ts";
import { pasteable, useOfKey } from "./keys.ts";
import { fitPagePolicy } from "./page-policy.ts";
import { themes } from "./theme.ts";

/** Lines above the screen. */
const keptLines = 5000;

/**
 * Operating system commands that would act outside of the terminal: titles, working folders, links, notifications, the clipboard, files.
 * xterm.js would make links of number 8 and ignores most others; none is even read.
 */
const refusedCommands = [0, 1, 2, 7, 8, 9, 50, 52, 99, 133, 633, 777, 1337];

export interface ScreenHandlers {
  readonly onInput: (text: string) => void;
  readonly onResize: (size: { readonly cols: number; readonly rows: number }) => void;
  /** The user leaves the terminal with the keyboard. */
  readonly onLeave: () => void;
  readonly onSelection: (hasSelection: boolean) => void;
}

/** What a terminal shows. It stays as it is while it is not part of the page. */
export class Screen implements Disposable {
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #element = document.createElement("div");
  readonly #cleaner = new OutputCleaner();
  readonly #handlers: ScreenHandlers;

  constructor(handlers: ScreenHandlers) {
    fitPagePolicy();
    this.#handlers = handlers;
    this.#terminal = new Terminal({
      scrollback: keptLines,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: 13,
      lineHeight: 1.2,
      cursorBlink: false,
      // It would log what a program wrote.
      logLevel: "off",
      minimumContrastRatio: 4.5,
      macOptionClickForcesSelection: true,
    });
    this.#element.className = "terminal-element";
    this.#terminal.loadAddon(this.#fit);
    for (const command of refusedCommands) this.#terminal.parser.registerOscHandler(command, () => true);
    this.#terminal.onData(handlers.onInput);
    this.#terminal.onBinary(handlers.onInput);
    this.#terminal.onResize(handlers.onResize);
    this.#terminal.onSelectionChange(() => handlers.onSelection(this.#terminal.hasSelection()));
    this.#terminal.attachCustomKeyEventHandler((event) => this.#handleKey(event));
    this.#element.addEventListener("paste", (event) => this.#handlePaste(event), { capture: true });
  }

  get size(): { readonly cols: number; readonly rows: number } {
    return { cols: this.#terminal.cols, rows: this.#terminal.rows };
  }

  /** Shows the screen in an element of the page, and fits its size. Returns a function that takes it out. */
  show(place: HTMLElement, description: string): () => void {
    place.append(this.#element);
    if (this.#terminal.element === undefined) this.#terminal.open(this.#element);
    this.#terminal.textarea?.setAttribute("aria-describedby", description);
    const observer = new ResizeObserver(() => this.#fit.fit());
    observer.observe(place);
    this.#fit.fit();
    this.#terminal.refresh(0, this.#terminal.rows - 1);
    return () => {
      observer.disconnect();
      this.#element.remove();
    };
  }

  /** Resolves when the text was interpreted, so that output waits for a slow screen. */
  write(text: string): Promise<void> {
    return new Promise((resolve) => this.#terminal.write(this.#cleaner.clean(text), resolve));
  }

  paste(text: string): void {
    this.#terminal.paste(pasteable(text));
    this.focus();
  }

  async copy(): Promise<void> {
    if (this.#terminal.hasSelection()) await navigator.clipboard.writeText(this.#terminal.getSelection());
  }

  focus(): void {
    this.#terminal.focus();
  }

  setLook({ isDark, isReader }: { readonly isDark: boolean; readonly isReader: boolean }): void {
    this.#terminal.options.theme = themes[isDark ? "dark" : "light"];
    this.#terminal.options.screenReaderMode = isReader;
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
    this.#element.remove();
  }

  /** Returns whether xterm.js handles the key. */
  #handleKey(event: KeyboardEvent): boolean {
    const use = useOfKey(event, this.#terminal.hasSelection());
    if (use === "type") return true;
    if (event.type !== "keydown" || use === "browser") return false;
    event.preventDefault();
    if (use === "leave") this.#handlers.onLeave();
    else void this.copy().then(() => this.#terminal.clearSelection());
    return false;
  }

  #handlePaste(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    this.paste(event.clipboardData?.getData("text/plain") ?? "");
  }
}
