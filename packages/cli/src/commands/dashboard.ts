import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { presentLink } from "../client/open-browser.ts";
import { findRouter } from "../client/router-address.ts";
import { CommandError } from "../command-error.ts";
import { ownToken } from "./token.ts";

export interface DashboardOptions extends GlobalOptions {
  readonly print?: boolean;
  readonly router?: string;
}

/** Opens the dashboard of the box. For a cluster, serves it from here. */
export async function dashboard(options: DashboardOptions): Promise<void> {
  await using connection = await connect(options);
  const token = await ownToken(connection);
  const { box, namespace } = connection;
  if (box !== undefined) {
    const { dashboardUrl } = box;
    if (dashboardUrl !== undefined) return present(await requestLogin({ dashboardUrl, token, namespace }), options);
    throw new CommandError('the box has no dashboard: restart it with "agent-sandbox down" and "agent-sandbox up"');
  }
  await serveHere(connection, token, options);
}

function present(link: string, options: DashboardOptions): void {
  const next = presentLink(link, options);
  if (next !== undefined) console.error(next);
}

async function serveHere(connection: Connection, token: string, options: DashboardOptions): Promise<void> {
  const { access, namespace } = connection;
  if (access.tls.insecure === true) {
    throw new CommandError("the dashboard verifies the API server: add its certificate authority to the kubeconfig");
  }
  const [{ startDashboard }, { dashboardPage }] = await Promise.all([
    import("@agent-sandbox/dashboard"),
    import("../box/dashboard-page.ts"),
  ]);
  await using router = await findRouter(connection, options.router);
  await using served = await startDashboard({
    listen: { host: "127.0.0.1", port: 0 },
    api: { url: access.server, ca: access.tls.ca },
    router: router.url,
    page: dashboardPage(),
  });
  // Before the link is shown, because a user who sees it may interrupt this program at once.
  const interrupted = new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
  });
  present(await requestLogin({ dashboardUrl: served.address, token, namespace }), options);
  console.error("Serving the dashboard until this program is interrupted");
  await interrupted;
}

interface Asked {
  readonly dashboardUrl: string;
  readonly token: string;
  readonly namespace: string;
}

/** The token is sent in a header, so that it is in no URL and no list of processes. */
async function requestLogin({ dashboardUrl, token, namespace }: Asked): Promise<string> {
  let response: Response;
  try {
    response = await fetch(`${dashboardUrl}/logins`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ namespace }),
      redirect: "error",
      signal: AbortSignal.timeout(30_000),
    });
  } catch (cause) {
    throw new CommandError(`Cannot reach the dashboard at ${dashboardUrl}: run "agent-sandbox status"`, { cause });
  }
  const body = (await response.json().catch(() => ({}))) as { readonly url?: unknown; readonly message?: string };
  if (response.ok && typeof body.url === "string") return body.url;
  throw new CommandError(`the dashboard refused a login link: ${body.message ?? `status ${response.status}`}`);
}
