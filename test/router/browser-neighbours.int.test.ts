import type { IncomingMessage, ServerResponse } from "node:http";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, type Served, TestCluster } from "../../packages/router/src/cluster.test.support.ts";
import type { Router } from "../../packages/router/src/start-router.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";

/**
 * A real browser with sessions for a victim's sandbox, for a sandbox in the same namespace, and for one in another
 * namespace. The pages of the other two are hostile.
 */
const cluster = new TestCluster();
const sandboxes = ["team/box", "team/evil", "other/evil"] as const;
type Name = (typeof sandboxes)[number];
/** The requests that arrived at the victim, as `METHOD path`, and their cookies. */
const arrived: string[] = [];
let cookies = "";
let victim: Served;
let attacker: Served;
let router: Router;
let browser: Browser;
let context: BrowserContext;

function serveVictim({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
  // Fetched by the browser on its own for the page that shows the error.
  if (url !== "/favicon.ico") arrived.push(`${method} ${url}`);
  cookies = headers.cookie ?? "";
  response.setHeader("content-type", "text/html").end("<title>victim</title>the victim's secret");
}

/** The headers of the attacker's next responses. */
let hostile: readonly (readonly [name: string, value: string])[] = [];

function serveAttacker(_: IncomingMessage, response: ServerResponse): void {
  for (const [name, value] of hostile) response.appendHeader(name, value);
  response.setHeader("content-type", "text/html").end("<title>attacker</title>");
}

const originOf = (name: Name): string => {
  const [namespace, sandbox] = name.split("/");
  const { port } = name === "team/box" ? victim : attacker;
  return `http://${port}-${sandbox}.${namespace}.localhost:${router.address?.port}`;
};

async function linkTo(name: Name): Promise<string> {
  const [namespace, sandbox] = name.split("/");
  const { port } = name === "team/box" ? victim : attacker;
  const headers = { Authorization: "Bearer alice", host: `localhost:${router.address?.port}` };
  const path = `/router/v1/namespaces/${namespace}/sandboxes/${sandbox}/logins`;
  const { text } = await ask(router, path, { method: "POST", body: JSON.stringify({ ports: [port] }), headers });
  return (JSON.parse(text) as { url: string }).url;
}

beforeAll(async () => {
  [victim, attacker] = [await cluster.serve(serveVictim), await cluster.serve(serveAttacker)];
  for (const name of sandboxes) {
    const [namespace = "", sandbox = ""] = name.split("/");
    const made = await cluster.sandbox(sandbox, { metadata: { namespace } });
    await cluster.pod(made, name === "team/box" ? victim.ip : attacker.ip);
  }
  cluster.users.set("alice", { username: "alice", mayConnect: sandboxes });
  router = await cluster.router({ auth: {} });
  browser = await openBrowser();
  context = await browser.newContext();
  const page = await context.newPage();
  for (const name of sandboxes) await page.goto(await linkTo(name));
  await page.close();
});
afterAll(async () => {
  await browser?.close();
  await cluster[Symbol.asyncDispose]();
});

/** Opens a page of an attacker with these response headers. */
async function pageOf(name: Name, ...answer: [string, string][]): Promise<Page> {
  hostile = answer;
  const page = await context.newPage();
  const response = await page.goto(originOf(name));
  expect([response?.status(), await page.title()]).toEqual([200, "attacker"]);
  return page;
}

/** What the victim receives when the user opens its page. */
async function visitVictim(): Promise<{ title: string; cookies: string }> {
  const page = await context.newPage();
  await page.goto(originOf("team/box"));
  const title = await page.title();
  await page.close();
  return { title, cookies };
}

/** Every way in which a page can cause a request, with its outcome. */
const requestsTo = (target: string): string => `(async () => {
  const ended = (start) => new Promise(start);
  const add = (tag, attributes) => ended((done) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.onload = () => done("load");
    element.onerror = () => done("error");
    document.body.append(element);
  });
  const get = (init) => fetch("${target}/fetch", { credentials: "include", ...init }).then(
    (response) => response.text().then((text) => 'read "' + text + '"'),
    () => "refused",
  );
  const socket = ended((done) => {
    const opened = new WebSocket("${target}/socket".replace("http", "ws"));
    opened.onopen = () => done("open");
    opened.onerror = () => done("refused");
  });
  navigator.sendBeacon("${target}/beacon", "x");
  return Promise.all([
    get({}),
    get({ mode: "no-cors" }),
    get({ mode: "no-cors", method: "POST", body: "x" }),
    socket,
    add("img", { src: "${target}/img" }),
    add("script", { src: "${target}/script" }),
    add("iframe", { src: "${target}/frame" }),
    add("object", { data: "${target}/object", type: "text/html" }),
  ]);
})()`;

/** What a page can access of its origin. */
const reachOf = (neighbour: string): string => `(async () => {
  const tried = async (what) => {
    try {
      return String(await what());
    } catch {
      return "refused";
    }
  };
  return Promise.all([
    tried(() => window.origin),
    tried(() => localStorage.length),
    tried(() => document.cookie),
    tried(() => navigator.serviceWorker.register("sw.js", { scope: "/" })),
    tried(async () => (await fetch("${neighbour}")).text()),
  ]);
})()`;

test.for(["team/evil", "other/evil"] as const)(
  "no request of a page of %s reaches the victim with the session",
  async (name) => {
    const page = await pageOf(name);
    arrived.length = 0;
    const outcome = await page.evaluate<string[]>(requestsTo(originOf("team/box")));
    expect(outcome.slice(0, 4)).toEqual(["refused", 'read ""', 'read ""', "refused"]);
    // A form in a new window, for which the browser sends the cookie.
    const form = await context.newPage();
    await form.goto(originOf(name));
    await form.evaluate(`
      document.body.innerHTML = '<form method=post action="${originOf("team/box")}/form"></form>';
      document.forms[0].submit();
    `);
    await form.waitForURL(/\/form$/);
    expect(arrived).toEqual([]);
    await Promise.all([page.close(), form.close()]);
    expect((await visitVictim()).title).toBe("victim");
  },
);

const session = "agent-sandbox-session";
test.for(["team/evil", "other/evil"] as const)(
  "an answer of %s sets no cookie for the victim and takes none away",
  async (name) => {
    const domains = [
      "localhost",
      "team.localhost",
      ".team.localhost",
      "other.localhost",
      new URL(originOf("team/box")).hostname,
    ];
    const spellings = [
      session,
      ` ${session} `,
      `\t${session}`,
      `=${session}`,
      `__Host-${session}`,
      session.toUpperCase(),
    ];
    const page = await pageOf(
      name,
      ...domains.flatMap((domain): [string, string][] => [
        ["Set-Cookie", `planted=1; Domain=${domain}; Path=/`],
        ...spellings.map((spelling): [string, string] => ["Set-Cookie", `${spelling}=x; Domain=${domain}; Path=/`]),
        ...spellings.map((spelling): [string, string] => ["Set-Cookie", `${spelling}=; Domain=${domain}; Max-Age=0`]),
      ]),
      ...Array.from({ length: 50 }, (_, index): [string, string] => [
        "Set-Cookie",
        `bomb${index}=${"x".repeat(100)}; Domain=team.localhost`,
      ]),
      ["Clear-Site-Data", '"*"'],
      ["Clear-Site-Data", '"cookies"'],
    );
    expect(await visitVictim()).toEqual({ title: "victim", cookies: "" });
    // The other session still works.
    await page.reload();
    expect(await page.title()).toBe("attacker");
    await page.close();
  },
);

test("a script of another namespace cannot set a cookie for the victim, and one of the same namespace does no harm", async () => {
  const plant = `for (const domain of ["localhost", "team.localhost"]) {
    document.cookie = "planted=1; Path=/; Domain=" + domain;
    document.cookie = "agent-sandbox-session=x; Path=/; Domain=" + domain;
  }`;
  const [foreign, neighbour] = [await pageOf("other/evil"), await pageOf("team/evil")];
  await foreign.evaluate(plant);
  expect(await visitVictim()).toEqual({ title: "victim", cookies: "" });
  await neighbour.evaluate(plant);
  expect(await visitVictim()).toEqual({ title: "victim", cookies: "planted=1" });
  await context.clearCookies({ name: "planted" });
  await Promise.all([foreign.close(), neighbour.close()]);
});

test("a page below a path has an opaque origin without storage, service workers and access to other sandboxes", async () => {
  const open = await cluster.router();
  const base = `http://localhost:${open.address?.port}/sandboxes`;
  const page = await browser.newPage();
  hostile = [
    ["Set-Cookie", "planted=1; Path=/"],
    ["Service-Worker-Allowed", "/"],
  ];
  await page.goto(`${base}/other/evil/${attacker.port}/`);
  const outcome = await page.evaluate<string[]>(reachOf(`${base}/team/box/${victim.port}/`));
  expect(outcome).toEqual(["null", "refused", "refused", "refused", "refused"]);
  await page.goto(`${base}/team/box/${victim.port}/`);
  expect([await page.title(), cookies]).toEqual(["victim", ""]);
  await page.close();
});
