import { relative, resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = resolve(import.meta.dirname, "..");

/**
 * The files that take longest, the longest first. Vitest knows durations only from earlier runs in the same clone, and otherwise
 * starts with the largest file. A long file that starts last runs alone at the end.
 */
export const slowFiles: readonly string[] = [
  "test/differential/differential.int.test.ts",
  "test/data-plane/conformance-gvisor.int.test.ts",
  "packages/node/test/state/killed-node.int.test.ts",
  "packages/node/test/behaviours/lifecycle.int.test.ts",
  "test/data-plane/conformance-runc.int.test.ts",
  "packages/node/test/behaviours/volumes.int.test.ts",
  "packages/node/test/behaviours/several.int.test.ts",
  "test/controllers/storm.int.test.ts",
  "packages/node/test/behaviours/probes.int.test.ts",
  "test/data-plane/wake.int.test.ts",
  "test/e2e/sleep-and-wake.int.test.ts",
  "packages/node/src/restart.int.test.ts",
  "test/security/images-layers.int.test.ts",
  "test/security/images-pulls.int.test.ts",
  "test/state/kills.int.test.ts",
  "test/state/connections.int.test.ts",
  "packages/node/test/state/encrypted.int.test.ts",
  "packages/node/src/runtime/gvisor.int.test.ts",
  "test/state/sleep.int.test.ts",
  "packages/apiserver/src/store/crash-storm.int.test.ts",
  "test/security/random-attacker.int.test.ts",
  "test/controllers/claim-kubernetes.int.test.ts",
  "packages/controllers/src/claim/storm.test.ts",
  "packages/controllers/src/sandbox/storm.test.ts",
];

const places = new Map(slowFiles.map((file, place) => [file, place]));
const placeOf = ({ moduleId }: TestSpecification): number => places.get(relative(root, moduleId)) ?? slowFiles.length;

export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
