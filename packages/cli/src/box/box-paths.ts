import { join, resolve } from "node:path";

/** The files of a box. All are in one folder, so that several boxes can run on one machine. */
export interface BoxPaths {
  readonly dataDir: string;
  readonly kubeconfig: string;
  /** For the members of the group in the box's settings; absent without such a group. */
  readonly groupKubeconfig: string;
  readonly log: string;
  /** The key with which the router signs tokens and browser sessions. */
  readonly routerKey: string;
  /** The sessions of the dashboard, with the tokens of their users. */
  readonly dashboardSessions: string;
  /** Describes the running box process; see `running-box.ts`. */
  readonly record: string;
}

export function boxPaths(dataDir: string): BoxPaths {
  const root = resolve(dataDir);
  return {
    dataDir: root,
    kubeconfig: join(root, "kubeconfig"),
    groupKubeconfig: join(root, "group.kubeconfig"),
    log: join(root, "box.log"),
    routerKey: join(root, "router.key"),
    dashboardSessions: join(root, "dashboard-sessions.json"),
    record: join(root, "box.json"),
  };
}

export const defaultDataDir = "/var/lib/agent-sandbox";
export const defaultListen = "127.0.0.1:7643";
export const defaultRouterListen = "127.0.0.1:7680";
export const defaultDashboardListen = "127.0.0.1:7681";
export const defaultCompatListen = "127.0.0.1:7682";

export function dataDirFrom(option: string | undefined, environment: NodeJS.ProcessEnv): string {
  return option ?? environment["AGENT_SANDBOX_DATA_DIR"] ?? defaultDataDir;
}
