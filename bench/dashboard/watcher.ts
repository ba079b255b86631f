import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";

interface Finished {
  readonly requestId: string;
  readonly encodedDataLength: number;
}

interface Sent {
  readonly requestId: string;
  readonly request: { readonly url: string };
}

/** A new browser profile that has opened a login link. Measures what its user sees. */
export class Watcher implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #devTools: CDPSession;
  readonly #bytes = new Map<string, number>();

  private constructor(context: BrowserContext, page: Page, devTools: CDPSession) {
    [this.#context, this.page, this.#devTools] = [context, page, devTools];
  }

  /** With `hasClock`, the time of the page is that of `page.clock`. */
  static async open(browser: Browser, link: string, options: { readonly hasClock?: boolean } = {}): Promise<Watcher> {
    const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    if (options.hasClock === true) await page.clock.install();
    const watcher = new Watcher(context, page, await context.newCDPSession(page));
    await watcher.#recordBytes();
    await page.addInitScript({ content: recordFirstList });
    await page.goto(link);
    return watcher;
  }

  /** From opening the login link until the page shows a list of so many rows, in milliseconds. */
  async firstListMs(count: number): Promise<number> {
    for (;;) {
      const found = (await this.page.evaluate(`window.firstList?.[${count}]`)) as number | undefined;
      if (found !== undefined) return found;
      await sleep(20);
    }
  }

  /** What the page itself transferred until now, compressed and with headers, without the data of the API. */
  loadedBytes(): number {
    return [...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The times between the frames of some seconds. */
  async frames(seconds: number): Promise<number[]> {
    return (await this.page.evaluate(`(${recordFrames})(${seconds * 1000})`)) as number[];
  }

  /** Scrolls the list up and down until the returned function is called. */
  async scroll(): Promise<() => Promise<void>> {
    await this.page.evaluate(`window.scrolling = setInterval(${scrollOnce}, 16)`);
    return async () => void (await this.page.evaluate("clearInterval(window.scrolling)"));
  }

  /** The heap of the page after a garbage collection. */
  async heapBytes(): Promise<number> {
    await this.#devTools.send("HeapProfiler.collectGarbage");
    await this.#devTools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.#devTools.send("Runtime.getHeapUsage");
    return usedSize;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }

  async #recordBytes(): Promise<void> {
    const own = new Set<string>();
    await this.#devTools.send("Network.enable");
    this.#devTools.on("Network.requestWillBeSent", ({ requestId, request }: Sent) => {
      if (!/\/(kube|runtime|streams|session)\b/.test(new URL(request.url).pathname)) own.add(requestId);
    });
    this.#devTools.on("Network.loadingFinished", ({ requestId, encodedDataLength }: Finished) => {
      if (own.has(requestId)) this.#bytes.set(requestId, encodedDataLength);
    });
  }
}

// These run in the page, and are texts because functions would be compiled for Node.
const recordFirstList = `window.firstList = {};
(function look() {
  const count = document.querySelector(".list-count")?.textContent;
  if (count && document.querySelector(".table-row") && !(count in window.firstList)) window.firstList[count] = performance.now();
  setTimeout(look, 4);
})();`;

const recordFrames = `(durationMs) => new Promise((resolve) => {
  const times = [];
  const started = performance.now();
  let before = started;
  requestAnimationFrame(function frame(now) {
    times.push(now - before);
    before = now;
    if (now - started < durationMs) requestAnimationFrame(frame);
    else resolve(times.slice(1));
  });
})`;

const scrollOnce = `() => {
  const list = document.querySelector(".table-scroll");
  window.scrollStep ??= 24;
  if (list.scrollTop + list.clientHeight >= Math.min(list.scrollHeight, 20000)) window.scrollStep = -24;
  if (list.scrollTop <= 0) window.scrollStep = 24;
  list.scrollTop += window.scrollStep;
}`;
