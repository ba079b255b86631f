import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { Box, buildCommandLine, whyNoBox } from "./box.ts";
import { openBrowser } from "./browser/open-browser.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

const program = readFileSync(join(import.meta.dirname, "browser/web-server.py"), "utf8");

const objects = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "program" }, data: { "web-server.py": program } },
  {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "notes" },
    spec: {
      idlePolicy: { suspendAfterSeconds: 10 },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
      podTemplate: {
        spec: {
          containers: [
            {
              name: "main",
              image: "host",
              command: ["python3", "/program/web-server.py"],
              volumeMounts: [
                { name: "data", mountPath: "/data" },
                { name: "program", mountPath: "/program" },
              ],
              readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
            },
          ],
          volumes: [{ name: "program", configMap: { name: "program" } }],
        },
      },
    },
  },
];

/** The texts of the page, after its WebSocket has answered. */
async function read(page: Page): Promise<Record<string, string>> {
  await page.locator("#answer").filter({ hasText: /./ }).waitFor();
  const text = (selector: string): Promise<string> => page.locator(selector).innerText();
  return {
    title: await page.title(),
    volume: await text("#volume"),
    root: await text("#root"),
    answer: await text("#answer"),
  };
}

const seen = {
  title: "Notes",
  volume: "milk, bread",
  root: "kept with the machine",
  answer: "heard: are you there?",
};

describe.skipIf(reason !== undefined)("a browser", { timeout: 180_000 }, () => {
  let box: Box;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let link: string;

  beforeAll(async () => {
    browser = await openBrowser();
    context = await browser.newContext();
    page = await context.newPage();
    buildCommandLine();
    box = await Box.make();
    const steps: [string, ...string[]][] = [
      ["", "up", "--listen", "127.0.0.1:0", "--router-listen", "127.0.0.1:0"],
      [objects.map((object) => stringify(object)).join("---\n"), "apply", "-f", "-"],
      ["", "wait", "sandbox/notes", "--for=condition=Ready", "--timeout=60s"],
      ["milk, bread", "exec", "-i", "notes", "--", "sh", "-c", "cat > /data/notes"],
      ["kept with the machine", "exec", "-i", "notes", "--", "sh", "-c", "cat > /root/notes"],
    ];
    for (const [stdin, ...words] of steps) {
      const { code, stderr } = await box.runWith(stdin, ...words);
      if (code !== 0) throw new Error(`agent-sandbox ${words.join(" ")}: ${stderr}`);
    }
    link = await loginLink();
  });
  afterAll(async () => {
    await browser?.close();
    await box?.[Symbol.asyncDispose]();
  });

  function routerUrl(): string {
    return (JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string }).routerUrl;
  }

  /** A login link for the sandbox's web server, which the router creates for a user with a token. */
  async function loginLink(): Promise<string> {
    const config = parse(readFileSync(box.kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    const response = await fetch(`${routerUrl()}/router/v1/namespaces/default/sandboxes/notes/logins`, {
      method: "POST",
      headers: { authorization: `Bearer ${config.users[0]?.user.token}` },
      body: JSON.stringify({ ports: [8000] }),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { url: string }).url;
  }

  const suspended = async (): Promise<string | undefined> => {
    const { stdout } = await box.run("get", "sandbox", "notes", "-o", "json");
    const { status } = JSON.parse(stdout) as { status: { conditions: { type: string; reason: string }[] } };
    return status.conditions.find(({ type }) => type === "Suspended")?.reason;
  };

  test("logs in with a link and uses the page and its WebSocket", async () => {
    expect(new URL(link).hostname).toBe("8000-notes.default.localhost");
    expect((await page.goto(new URL("/", link).href))?.status()).toBe(401);
    expect((await page.goto(link))?.status()).toBe(200);
    expect(new URL(page.url()).pathname).toBe("/");
    expect(await read(page)).toEqual(seen);
  });

  test("can use a login link only once", async () => {
    const another = await browser.newContext();
    const response = await (await another.newPage()).goto(link);
    expect(response?.status()).toBe(401);
    await another.close();
  });

  test("does not send its session with requests from other sites", async () => {
    const elsewhere = await context.newPage();
    await elsewhere.goto(`${routerUrl()}/healthz`);
    const socketUrl = new URL("/socket", link.replace("http:", "ws:")).href;
    const connect = (url: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.addEventListener("open", () => resolve("open"));
        socket.addEventListener("error", () => resolve("refused"));
      });
    expect(await elsewhere.evaluate(connect, socketUrl)).toBe("refused");
    expect(await page.evaluate(connect, socketUrl)).toBe("open");
    await elsewhere.close();
    await page.reload();
  });

  test("wakes a suspended sandbox by reloading, and finds the same files", async () => {
    expect(await read(page)).toEqual(seen);
    await expect.poll(suspended, { timeout: 90_000, interval: 500 }).toBe("Idle");
    // The Pod may still be terminating when the Sandbox is suspended.
    await expect.poll(async () => (await box.run("get", "pod", "notes")).code, { timeout: 60_000 }).not.toBe(0);
    expect((await page.reload({ timeout: 60_000 }))?.status()).toBe(200);
    expect(await read(page)).toEqual(seen);
  });
});
