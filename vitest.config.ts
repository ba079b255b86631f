import { defineConfig } from "vitest/config";
import { SlowFilesFirst } from "./scripts/slow-files-first.ts";

/**
 * Node imports the sources itself, as `node --conditions=source` does, instead of vite: this takes a fifth less processor time. Tests
 * can therefore not mock modules.
 */
const native = {
  // A machine that runs four suites may need longer than the default of one second.
  expect: { poll: { timeout: 20_000 } },
  experimental: { viteModuleRunner: false, nodeLoader: false },
  execArgv: ["--conditions=source", "--disable-warning=ExperimentalWarning"],
};

/**
 * A suite that needs sockets, runtimes or root. Its files are named `*.int.test.ts`. They mostly wait for other processes, so two run
 * at the same time even on one core; by default vitest runs one fewer than the machine has cores.
 */
const integration = (name: string, include: string[], more: { isolate?: boolean; maxWorkers?: number } = {}) => ({
  test: { ...native, name, include, testTimeout: 60_000, hookTimeout: 120_000, maxWorkers: 2, ...more },
});

/** For files that leave no global state behind: files in the same worker load the product once. */
const shared = { isolate: false };

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFilesFirst },
    projects: [
      {
        test: {
          ...native,
          name: "unit",
          include: ["packages/*/{src,test}/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: ["**/*.int.test.ts", "**/node_modules/**"],
          isolate: false,
          // Most tests compute: one worker for each core.
          maxWorkers: "100%",
          // Property tests and simulations take seconds on a busy machine.
          testTimeout: 60_000,
        },
      },
      integration("kube", ["packages/kube/{src,test}/**/*.int.test.ts"], shared),
      integration("apiserver", ["packages/apiserver/{src,test}/**/*.int.test.ts"], shared),
      {
        test: {
          ...integration("node", ["packages/node/{src,test}/**/*.int.test.ts"], shared).test,
          // Each file has its own nodes, with their own data folders, networks and cgroups. They mostly wait for runtimes.
          maxWorkers: 4,
          maxConcurrency: 3,
          // Every Pod costs a dozen processes, which a machine that runs other suites starts slowly.
          testTimeout: 120_000,
        },
      },
      integration(
        "controllers",
        ["packages/controllers/{src,test}/**/*.int.test.ts", "test/controllers/**/*.int.test.ts"],
        shared,
      ),
      integration("router", ["packages/router/{src,test}/**/*.int.test.ts", "test/router/**/*.int.test.ts"], shared),
      // Boxes mostly wait for idle sandboxes, browsers and restarts.
      integration("e2e", ["test/e2e/**/*.int.test.ts"], { maxWorkers: 3 }),
      integration("data-plane", ["test/data-plane/**/*.int.test.ts"], { maxWorkers: 3 }),
      integration("state", ["test/state/**/*.int.test.ts"]),
      integration("sdk", ["test/sdk/**/*.int.test.ts"]),
      {
        test: {
          ...integration("security", ["test/security/**/*.int.test.ts"]).test,
          // All files attack one box. Each runs in a separate process that enters the network namespace of the box.
          globalSetup: ["test/security/global-setup.ts"],
          pool: "forks" as const,
          // Attacks mostly wait: three at a time keep two cores busy.
          maxWorkers: 3,
        },
      },
      {
        test: {
          ...integration("docs", ["test/docs/**/*.int.test.ts"]).test,
          // Each page has a box of its own. Pages mostly wait for sandboxes.
          maxConcurrency: 4,
        },
      },
      integration("examples", ["test/examples/**/*.int.test.ts"]),
      {
        test: {
          ...integration("cluster", ["test/cluster/**/*.int.test.ts"]).test,
          // All files share one cluster. They mostly wait for Pods, several at a time in each file.
          globalSetup: ["test/cluster/global-setup.ts"],
          maxWorkers: 1,
          testTimeout: 120_000,
        },
      },
      integration("kube-apiserver", ["test/kube-apiserver/**/*.int.test.ts"]),
      integration("differential", ["test/differential/**/*.int.test.ts"]),
      integration("operator", ["test/operator/**/*.int.test.ts"]),
      integration("clients", ["test/clients/**/*.test.ts"]),
      integration("reference-clients", ["test/reference-clients/**/*.int.test.ts"]),
      // One file waits a minute for a sandbox that cannot start.
      integration("compat", ["test/compat/**/*.int.test.ts"], { maxWorkers: 3 }),
      integration("dashboard", ["test/dashboard/**/*.int.test.ts"]),
    ],
  },
});
