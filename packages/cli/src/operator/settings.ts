import { version } from "../version.ts";

/** What an installation in a cluster can choose. */
export interface OperatorSettings {
  readonly namespace: string;
  /** The image of manager and router. */
  readonly image: string;
  /** The image of sandboxd, for Sandboxes with `runtime: Injected`. */
  readonly runtimeImage: string;
  readonly pullPolicy: "Always" | "IfNotPresent" | "Never";
  readonly replicas: number;
  /** Whether templates, pools and claims are installed too. */
  readonly extensions: boolean;
  readonly clusterDomain: string;
}

/** `localhost` is no registry: these images are loaded into the nodes or pushed elsewhere, and never fetched from a stranger. */
export const imageNames = { operator: "agent-sandbox", runtime: "agent-sandbox-runtime" } as const;
const localRegistry = "localhost";

/** The images of this version in a registry, or in a folder of it. */
export function imagesIn(registry: string = localRegistry): Pick<OperatorSettings, "image" | "runtimeImage"> {
  const named = (name: string): string => `${registry.replace(/\/+$/, "")}/${name}:${version}`;
  return { image: named(imageNames.operator), runtimeImage: named(imageNames.runtime) };
}

export const defaultSettings: OperatorSettings = {
  namespace: "agent-sandbox-system",
  ...imagesIn(),
  pullPolicy: "IfNotPresent",
  replicas: 2,
  extensions: true,
  clusterDomain: "cluster.local",
};

/** The names and labels that users of the reference implementation know. */
export const managerName = "agent-sandbox-controller";
export const extensionsName = "agent-sandbox-controller-extensions";
export const webhookService = "agent-sandbox-webhook-service";
export const routerName = "sandbox-router";
export const routerService = "sandbox-router-svc";
/** The key that signs scoped tokens. All replicas of the router share it. */
export const routerKeysSecret = "sandbox-router-keys";
export const priorityClass = "agent-sandbox-critical";
