/** Which cluster the suite uses: one on this machine, or with `TEST_CLUSTER=existing` that of KUBECONFIG. */
export const usesExisting: boolean = process.env["TEST_CLUSTER"] === "existing";

/** What global-setup.ts tells the test files. */
export interface ProvidedCluster {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** An image with busybox. */
  readonly image: string;
  /** An image that sleeps until it is told to end. Empty if there is none. */
  readonly sleeper: string;
  /** Why there is no cluster. The other fields are empty then. */
  readonly missing: string | undefined;
}

declare module "vitest" {
  interface ProvidedContext {
    readonly cluster: ProvidedCluster;
  }
}
