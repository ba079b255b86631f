import type { ApiServer, ObjectName, Router } from "@agent-sandbox/sdk/internal";

/** Who uses the tools. Everything is done with the caller's own rights. */
export interface Caller {
  /** The name of the authenticated Kubernetes user. */
  readonly user: string;
  /** Separates the sandboxes of one user's projects. */
  readonly workspace?: string;
  /** Of calls that name none. */
  readonly namespace: string;
  readonly api: ApiServer;
  readonly router: Router;
  /** The end of what the main process of a Pod has printed. Undefined if there is no such Pod. */
  readLog(pod: ObjectName, signal: AbortSignal): Promise<string | undefined>;
}

/** How a server creates sandboxes. */
export interface Settings {
  /** For sandboxes whose creator names neither template nor image. */
  readonly source: { readonly template: string } | { readonly image: string } | undefined;
  /** Whether calls that name no sandbox use one that is created when it is first needed. */
  readonly autoSandbox: boolean;
}

/** One call of a tool. */
export interface Call {
  readonly caller: Caller;
  readonly settings: Settings;
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Tells the client what the call is doing. Returns at once. */
  readonly progress: (message: string) => void;
}
