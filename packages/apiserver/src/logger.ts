import type { Logger } from "@agent-sandbox/kube";

export type { Logger } from "@agent-sandbox/kube";

const nothing = (): void => undefined;

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
