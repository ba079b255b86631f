import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type ConnectOptions, connect, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildBrowserBundle } from "../../scripts/sdk-package.ts";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";
import { freePort } from "../free-port.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** What the pages load from `/sdk.js`. */
type Sdk = typeof import("@agent-sandbox/sdk");
declare global {
  var sdk: Sdk;
  var options: ConnectOptions;
  var print: (text: string) => void;
  var origin: string;
}

const importMap = JSON.stringify({ imports: { "@agent-sandbox/sdk": "/sdk.js" } });
const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/typescript.md"), "utf8");

describe.skipIf(reason !== undefined)("the SDK in a browser", { timeout: 120_000 }, () => {
  const stack = new AsyncDisposableStack();
  let browser: Browser;
  let client: SandboxClient;
  let sandbox: Sandbox;
  let bundle: Buffer;
  let allowed: string;
  let other: string;
  let router: string;
  let server: string;
  let token: string;
  let box: Box;
  /** Starts the box, always at the same addresses. */
  let up: () => Promise<void>;

  beforeAll(async () => {
    buildCommandLine();
    const folder = mkdtempSync(join(tmpdir(), "sdk-browser-"));
    stack.defer(() => rmSync(folder, { recursive: true }));
    await buildBrowserBundle(join(folder, "sdk.js"));
    bundle = readFileSync(join(folder, "sdk.js"));
    [allowed, other] = [await serve(), await serve()];
    box = stack.use(await Box.make());
    const flags = ["--router-listen", `127.0.0.1:${await freePort()}`, "--allow-origin", allowed];
    up = async () => {
      const { code, stderr } = await box.up(...flags);
      if (code !== 0) throw new Error(stderr);
    };
    await up();
    const record = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as {
      url: string;
      routerUrl: string;
    };
    [router, server] = [record.routerUrl, record.url];
    token = readFileSync(join(box.dataDir, "admin.token"), "utf8").trim();
    client = stack.use(await connect({ dataDir: box.dataDir }));
    sandbox = await client.create({ image: "host", name: "builder" });
    browser = await openBrowser();
    stack.defer(() => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  /** A server with a page and the bundle. Each has its own port, and so its own origin. */
  async function serve(): Promise<string> {
    const pages = createServer(({ url }, response) => {
      const isScript = url === "/sdk.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? bundle : `<!doctype html><script type="importmap">${importMap}</script>`);
    }).listen(0, "127.0.0.1");
    stack.defer(() => void pages.close());
    await once(pages, "listening");
    return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  }

  /** A page of the origin that has loaded the SDK. */
  async function pageOf(origin: string, more: Pick<ConnectOptions, "server" | "token"> = {}): Promise<Page> {
    // The box has its own certificate authority.
    const page = await browser.newPage({ ignoreHTTPSErrors: true });
    await page.goto(origin);
    await page.evaluate(
      async ({ given, script }) => {
        globalThis.sdk = (await import(script)) as Sdk;
        globalThis.options = given;
      },
      { given: { router, token, ...more }, script: "/sdk.js" },
    );
    return page;
  }

  async function scopedToken(): Promise<string> {
    const url = `${router}/router/v1/namespaces/default/sandboxes/builder/tokens`;
    const response = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    return ((await response.json()) as { token: string }).token;
  }

  test("is one module without imports", () => {
    const text = bundle.toString();
    expect(text).not.toMatch(/\bimport\b[^\n]*["']/);
    console.log(`browser bundle: ${text.length} bytes, ${gzipSync(text).length} with gzip`);
  });

  test("a page with a token for one sandbox runs a command, with its output as it is written", async () => {
    const page = await pageOf(allowed, { token: await scopedToken() });
    const seen = await page.evaluate(async () => {
      const remote = (await sdk.connect(options)).handle("builder");
      const pieces: string[] = [];
      let arrivedEarly = false;
      const command = "echo first; while ! test -e go; do sleep 0.05; done; echo second; exit 3";
      const { exitCode } = await remote.commands.run(command, {
        onStdout: (text) => {
          pieces.push(text);
          // The command waits for this file, so it ends only if its output arrives before its end.
          if (pieces.length === 1) void remote.files.write("go", "").then(() => (arrivedEarly = true));
        },
      });
      return { exitCode, text: pieces.join(""), arrivedEarly };
    });
    expect(seen).toEqual({ exitCode: 3, text: "first\nsecond\n", arrivedEarly: true });
  });

  test("writes and reads files, also as streams", async () => {
    const page = await pageOf(allowed);
    const seen = await page.evaluate(async () => {
      const { files } = (await sdk.connect(options)).handle("builder");
      await files.write("page/ü.txt", "from a page", { createOnly: true });
      const block = new Uint8Array(300_000).map((_, index) => index % 251);
      await files.write("page/large", new Blob([block, block]).stream());
      let size = 0;
      for await (const piece of files.readStream("page/large", { range: { first: 1 } })) size += piece.length;
      const entries = await files.list("page");
      return { text: await files.readText("page/ü.txt"), size, names: entries.map(({ name }) => name) };
    });
    expect(seen).toEqual({ text: "from a page", size: 599_999, names: ["large", "ü.txt"] });
    expect((await sandbox.files.stat("page/large")).size).toBe(600_000);
  });

  test("reports errors with their reason", async () => {
    const page = await pageOf(allowed);
    const seen = await page.evaluate(async () => {
      const open = await sdk.connect(options);
      const outcome = (call: Promise<unknown>): Promise<unknown> =>
        call.then(
          () => "succeeded",
          (error: unknown) => (sdk.isSandboxError(error) ? [error.reason, error.status, error.serverReason] : error),
        );
      return [
        await outcome(open.handle("builder").files.read("nothing")),
        await outcome(open.handle("nothing").commands.run("true")),
        await outcome((await sdk.connect({ ...options, token: "wrong" })).handle("builder").commands.run("true")),
        await outcome(open.list()),
        await outcome(sdk.connect()),
        await outcome(open.handle("builder").commands.run("sleep 9", { signal: AbortSignal.timeout(1) })),
      ];
    });
    expect(seen.slice(0, -1)).toEqual([
      ["NotFound", 404, "NOT_FOUND"],
      ["NotFound", 404, "SandboxNotFound"],
      ["Unauthenticated", 401, "Unauthenticated"],
      ["InvalidArgument", undefined, undefined],
      ["InvalidArgument", undefined, undefined],
    ]);
    expect(String(seen.at(-1))).toContain("TimeoutError");
  });

  test("creates and deletes sandboxes if it knows the API server", async () => {
    const page = await pageOf(allowed, { server });
    const seen = await page.evaluate(async () => {
      const open = await sdk.connect(options);
      const created = await open.create({ image: "host", name: "of-a-page", labels: { from: "page" } });
      const { text } = await created.runCode("6 * 7");
      const found = await open.list({ labels: { from: "page" } });
      await created.extend(600);
      await created.delete();
      return { text, names: found.map(({ name }) => name) };
    });
    expect(seen).toEqual({ text: "42", names: ["of-a-page"] });
  });

  test("continues to read the output of a command after the box was killed", async () => {
    const page = await pageOf(allowed);
    const printed: string[] = [];
    await page.exposeFunction("print", (text: string) => printed.push(text));
    const result = page.evaluate(async () => {
      const { commands } = (await sdk.connect(options)).handle("builder");
      const command = "echo before; while ! test -e restarted; do sleep 0.1; done; echo after";
      const { stdout } = await commands.run(command, { onStdout: print });
      return stdout;
    });
    await expect.poll(() => printed).toEqual(["before\n"]);
    process.kill(box.pid(), "SIGKILL");
    await up();
    await sandbox.files.write("restarted", "");
    expect(await result).toBe("before\nafter\n");
  });

  test("runs the example of the guide", async () => {
    const [, example = ""] = /^```js\n(.*?)^```$/ms.exec(guide) ?? [];
    const page = await pageOf(allowed);
    const printed: string[] = [];
    page.on("console", (message) => void (message.type() === "log" && printed.push(message.text())));
    await page.evaluate((given) => Object.assign(globalThis, given), { router, token: await scopedToken() });
    await page.addScriptTag({ type: "module", content: example });
    await expect.poll(() => printed).toEqual([expect.stringMatching(/^Hello from /), "0"]);
  });

  test("a page of another origin is refused", async () => {
    const page = await pageOf(other, { server });
    const seen = await page.evaluate(async () => {
      const open = await sdk.connect(options);
      const outcome = (call: Promise<unknown>): Promise<unknown> =>
        call.then(
          () => "succeeded",
          (error: unknown) => (sdk.isSandboxError(error) ? `${error.reason}: ${error.message}` : String(error)),
        );
      return [
        await outcome(open.handle("builder").commands.run("touch refused")),
        await outcome(open.handle("builder").files.append("refused", "x")),
        await outcome(open.list()),
        await outcome(fetch(`${options.router}/healthz`)),
      ];
    });
    const hint = `from pages of ${other}: its operator must allow the origin`;
    expect(seen).toEqual([
      expect.stringMatching(`^Forbidden: Cannot use ${router} ${hint}`),
      expect.stringMatching(`^Forbidden: Cannot use ${router} ${hint}`),
      expect.stringMatching(`^Forbidden: Cannot use ${server} ${hint}`),
      expect.stringMatching("^TypeError"),
    ]);
    expect(await sandbox.files.exists("refused")).toBe(false);
  });

  test("a page of a sandbox is refused, on its own host name and below a path, even with a token", async () => {
    await using _server = await sandbox.commands.start("mkdir -p site; cd site; exec python3 -m http.server 8000");
    await sandbox.ports.wait(8000, { http: "/" });
    const page = await browser.newPage();
    const attempts = async (): Promise<unknown> =>
      page.evaluate(
        async (given) => {
          const headers = { authorization: `Bearer ${given.token}` };
          const named = { ...headers, "x-sandbox-id": "builder", "x-sandbox-port": "8080" };
          const outcome = (path: string, init: object): Promise<string> =>
            fetch(`${given.router}${path}`, init).then(
              ({ status }) => `read a response with status ${status}`,
              () => "refused",
            );
          const own = [
            await outcome("/v1/files/", { headers: named }),
            await outcome("/sandboxes/default/builder/8080/v1/files/", { headers }),
            await outcome("/healthz", {}),
          ];
          return [origin, ...own];
        },
        { router, token },
      );
    const refused = ["refused", "refused", "refused"];
    await page.goto(await sandbox.ports.loginUrl(8000));
    expect(await attempts()).toEqual([new URL(sandbox.ports.url(8000)).origin, ...refused]);
    await page.setExtraHTTPHeaders({ authorization: `Bearer ${token}` });
    await page.goto(`${router}/sandboxes/default/builder/8000/`);
    await page.setExtraHTTPHeaders({});
    expect(await attempts()).toEqual(["null", ...refused]);
  });
});
