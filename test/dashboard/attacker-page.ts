import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** What each attempt gives if the browser and the dashboard refuse it. */
const nothing = {
  read: "failed",
  write: "failed",
  opaque: "failed",
  socket: "closed",
  frame: "blocked",
  script: "failed",
};

const attack = `<!doctype html><title>evil</title><script type="module">
const { dashboard, link } = Object.fromEntries(new URLSearchParams(location.search));
const send = (path, options) => fetch(dashboard + path, { credentials: "include", ...options }).then((answer) => answer.type === "opaque" ? "opaque" : "answered", () => "failed");
const element = (name, address) => new Promise((resolve) => {
  const made = document.createElement(name);
  made.onload = () => resolve("loaded");
  made.onerror = () => resolve("failed");
  made.src = dashboard + address;
  document.body.append(made);
});
const frame = async (address) => {
  const made = document.createElement("iframe");
  const loaded = new Promise((resolve) => { made.onload = resolve; });
  made.src = address;
  document.body.append(made);
  await loaded;
  // Browsers show an error page, of another origin and without frames, in place of a page that refuses frames.
  return made.contentWindow.length === 0 ? "blocked" : "shown";
};
const socket = () => new Promise((resolve) => {
  const made = new WebSocket(dashboard.replace("http", "ws") + "/streams");
  made.onopen = () => resolve("open");
  made.onclose = () => resolve("closed");
});
const outcome = {
  read: await send("/session"),
  write: await send("/logout", { method: "POST", headers: { authorization: "Bearer x" } }),
  opaque: await send("/logout", { method: "POST", mode: "no-cors", body: "x" }),
  socket: await socket(),
  frame: await frame(dashboard + "/"),
  script: await element("script", "/session"),
};
window.open(link);
await send(new URL(link).pathname + new URL(link).search, { mode: "no-cors" });
const form = document.createElement("form");
form.method = "POST";
form.action = dashboard + "/logout";
form.target = "nowhere";
document.body.append(form);
form.submit();
window.outcome = outcome;
</script>`;

/**
 * A page of an attacker, at a name that browsers resolve to this machine. Opened with the addresses of the dashboard and of a login link
 * (`?dashboard=…&link=…`), it tries to use both, and sets `window.outcome`.
 */
export class AttackerPage implements AsyncDisposable {
  static readonly nothing: object = nothing;
  /** The headers of each request, as JSON. */
  readonly received: string[] = [];
  readonly #server: Server;
  readonly #host: string;

  private constructor(host: string) {
    this.#host = host;
    this.#server = createServer((request, response) => {
      this.received.push(JSON.stringify(request.headers));
      response.setHeader("content-type", "text/html");
      response.end(attack);
    });
  }

  static async start(host: string): Promise<AttackerPage> {
    const attacker = new AttackerPage(host);
    attacker.#server.listen(0, "127.0.0.1");
    await once(attacker.#server, "listening");
    return attacker;
  }

  get url(): string {
    return `http://${this.#host}:${(this.#server.address() as AddressInfo).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
