import { join, resolve } from "node:path";

/** Where a box keeps its things. Everything is under one folder, so that two boxes on a machine never meet. */
export interface BoxPaths {
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly log: string;
  /** What the router signs tokens and browser sessions with. */
  readonly routerKey: string;
  /** Who runs the box now: see `running-box.ts`. */
  readonly record: string;
}

export function boxPaths(dataDir: string): BoxPaths {
  const root = resolve(dataDir);
  return {
    dataDir: root,
    kubeconfig: join(root, "kubeconfig"),
    log: join(root, "box.log"),
    routerKey: join(root, "router.key"),
    record: join(root, "box.json"),
  };
}

export const defaultDataDir = "/var/lib/agent-sandbox";

export function dataDirFrom(option: string | undefined, environment: NodeJS.ProcessEnv): string {
  return option ?? environment["AGENT_SANDBOX_DATA_DIR"] ?? defaultDataDir;
}
