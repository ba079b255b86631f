import type { Listening } from "@agent-sandbox/apiserver";
import { startDashboard } from "@agent-sandbox/dashboard";
import type { Logger } from "@agent-sandbox/kube";
import type { Router } from "@agent-sandbox/router";
import { version } from "../version.ts";
import type { BoxPaths } from "./box-paths.ts";
import { dashboardPage } from "./dashboard-page.ts";

export interface BoxDashboardOptions {
  readonly listening: Listening;
  readonly router: Router;
  readonly listen: { readonly host: string; readonly port: number };
  readonly paths: BoxPaths;
  readonly log: Logger;
}

/** The dashboard of the box. Sessions survive a restart of the box. */
export async function startBoxDashboard(options: BoxDashboardOptions): Promise<AsyncDisposable & { url: string }> {
  const { listening, router, listen, paths, log } = options;
  const dashboard = await startDashboard({
    listen,
    api: { url: listening.url, ca: listening.authority },
    router: router.url,
    page: dashboardPage(),
    sessionFile: paths.dashboardSessions,
    version,
    log,
  });
  return { url: dashboard.address, [Symbol.asyncDispose]: () => dashboard[Symbol.asyncDispose]() };
}
