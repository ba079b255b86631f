import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { dashboardHost } from "./check-request.ts";
import { type Dashboard, startDashboard } from "./start-dashboard.ts";

export interface Received {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface StartedUpstream extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
}

/** An HTTP server that records its requests. */
export async function startUpstream(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<StartedUpstream> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void receive(request, response);
  });
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    received.push({ url: request.url ?? "", headers: request.headers, body: await text(request) });
    answer(request, response);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Sends a request with exactly these headers; a name without a value removes one. */
export async function ask(
  dashboard: Dashboard,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> {
  const { port } = new URL(dashboard.address);
  const sent = send({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers: { host: `${dashboardHost}:${port}`, ...headers },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

export interface LoggedIn {
  readonly cookie: string;
  readonly requestToken: string;
}

export interface StartedDashboard {
  readonly api: StartedUpstream;
  readonly router: StartedUpstream;
  readonly dashboard: Dashboard;
  /** The login link, which has been used. */
  readonly link: string;
  readonly login: Reply;
  readonly user: LoggedIn;
}

export const userToken = "the-token-of-the-user";
export const otherToken = "the-token-of-another-user";
const users: Readonly<Record<string, string>> = { [userToken]: "alice", [otherToken]: "mallory" };

/** A dashboard of two upstreams, and a user who has logged in. */
export async function startWithUser(
  stack: AsyncDisposableStack,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  sessionFile?: string,
): Promise<StartedDashboard> {
  const api = stack.use(
    await startUpstream((request, response) => {
      if (request.url?.endsWith("/selfsubjectreviews") !== true) return answer(request, response);
      const username = users[request.headers.authorization?.slice("Bearer ".length) ?? ""];
      response.statusCode = username === undefined ? 401 : 201;
      response.end(JSON.stringify({ status: { userInfo: { username } } }));
    }),
  );
  const router = stack.use(await startUpstream(answer));
  const file = sessionFile === undefined ? {} : { sessionFile };
  const options = {
    listen: { host: "127.0.0.1", port: 0 },
    api: { url: api.url },
    router: router.url,
    page: "/none",
    ...file,
  };
  const dashboard = stack.use(await startDashboard(options));
  return { api, router, dashboard, ...(await logIn(dashboard, userToken)) };
}

export async function logIn(
  dashboard: Dashboard,
  token: string,
): Promise<Pick<StartedDashboard, "link" | "login" | "user">> {
  const made = await ask(dashboard, "/logins", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  const { url } = JSON.parse(made.body) as { url: string };
  const { pathname, search } = new URL(url);
  const link = pathname + search;
  const login = await ask(dashboard, link);
  const cookie = (login.headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
  const session = await ask(dashboard, "/session", { headers: { cookie } });
  const { requestToken } = JSON.parse(session.body) as { requestToken: string };
  return { link, login, user: { cookie, requestToken } };
}
