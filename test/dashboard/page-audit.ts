import type { Page } from "playwright-core";

/**
 * What a page that shows hostile objects must still be: itself. Returns what is wrong: elements and attributes that nobody wrote, links to
 * other places, characters that change how other text looks, another title, parts that are missing or too wide.
 */
export async function auditPage(page: Page): Promise<string[]> {
  const found = (await page.evaluate(audit)) as string[];
  return [...new Set(found)];
}

/** Addresses of the links in the sidebar, in their order. */
export async function sidebarLinks(page: Page): Promise<string[]> {
  return (await page.evaluate(
    `[...document.querySelectorAll("nav[aria-label=Pages] a")].map((link) => link.getAttribute("href"))`,
  )) as string[];
}

// A text, because the function would be compiled for Node.
const audit = `(() => {
  const problems = [];
  const add = (problem, element) => problems.push(problem + ": " + (element?.outerHTML ?? "").slice(0, 200));
  const invisible = /[\\p{Cs}\\p{Bidi_Control}\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b\\u2028\\u2029\\u2060\\ufeff\\u{e0000}-\\u{e007f}]/u;
  if (window.__pwned !== undefined) problems.push("a script of the tenant ran");

  const heading = document.querySelectorAll("h1");
  if (heading.length !== 1) problems.push(heading.length + " main headings");
  if (document.title !== heading[0]?.textContent + " · Agent Sandbox") problems.push("title: " + document.title);
  for (const wanted of ["main", "aside.sidebar", "header.topbar", "nav[aria-label=Pages]"]) {
    if (document.querySelectorAll(wanted).length !== 1) problems.push("not one element " + wanted);
  }
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) problems.push("the page is " + scrollWidth + " wide in a window of " + innerWidth);

  for (const element of document.querySelectorAll("iframe, object, embed, base, form[action], meta[http-equiv], area, applet")) add("element", element);
  const own = (address) => new URL(address, location.href).origin === location.origin;
  const isLoaded = (address) => own(address) || /^(blob|data):/.test(address);
  for (const element of document.querySelectorAll("script, link, img, source, video, audio, image, use")) {
    const address = element.src || element.href?.baseVal || element.href || "";
    if (address === "" ? element.localName === "script" : !isLoaded(address)) add("loaded", element);
  }
  for (const element of document.querySelectorAll("a")) {
    const href = element.getAttribute("href") ?? "";
    if (!href.startsWith("#") && (!own(href) || !/^https?:$/.test(new URL(href, location.href).protocol))) add("link", element);
    if (element.hasAttribute("ping")) add("ping", element);
  }
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || name === "srcdoc" || name === "formaction") add("attribute " + name, element);
      if (name !== "value" && invisible.test(value)) add("characters in " + name, element);
      if (name === "style" && /url\\(|expression/i.test(value)) add("style", element);
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (invisible.test(texts.currentNode.data)) add("characters in the text", texts.currentNode.parentElement);
  }
  return problems;
})()`;
