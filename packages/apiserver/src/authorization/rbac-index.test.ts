import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { systemClock } from "../clock.ts";
import { silentLogger } from "../logger.ts";
import { openMemoryStore } from "../store/open-store.ts";
import { RbacIndex } from "./rbac-index.ts";

const subject = fc.oneof(
  fc.record({ kind: fc.constant("User"), name: fc.constantFrom("ann", "bob") }),
  fc.record({ kind: fc.constant("Group"), name: fc.constantFrom("ann", "staff") }),
  fc.record(
    { kind: fc.constant("ServiceAccount"), name: fc.constant("bot"), namespace: fc.constantFrom("a", "b") },
    { requiredKeys: ["kind", "name"] },
  ),
  fc.constant({ kind: "Robot", name: "ann" }),
);
const step = fc.record({
  namespace: fc.constantFrom(undefined, "a", "b"),
  name: fc.constantFrom("one", "two"),
  subjects: fc.option(fc.array(subject, { maxLength: 3 }), { nil: undefined }),
});

describe("RbacIndex", () => {
  test("after any changes equals an index built from the final state", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const store = openMemoryStore({ clock: systemClock, logger: silentLogger });
        const following = new RbacIndex();
        following.follow(store);
        for (const { namespace, name, subjects } of steps) {
          const resource = namespace === undefined ? "clusterrolebindings" : "rolebindings";
          const key = namespace === undefined ? name : `${namespace}/${name}`;
          const object = subjects === undefined ? undefined : binding(namespace, name, subjects);
          await store.write((view) =>
            object === undefined && view.get(resource, key) === undefined
              ? { result: undefined }
              : { write: { resource, key, object }, result: undefined },
          );
        }
        const reading = new RbacIndex();
        reading.follow(store);
        expect(everything(following)).toEqual(everything(reading));
        await store.close();
      }),
      { numRuns: 100 },
    );
  });
});

function binding(namespace: string | undefined, name: string, subjects: readonly object[]): ApiObject {
  const metadata = namespace === undefined ? { name } : { name, namespace };
  const roleRef = { kind: "ClusterRole", name: "view" };
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Binding", metadata, roleRef, subjects };
}

function everything(index: RbacIndex): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const user of ["ann", "bob", "staff", "system:serviceaccount:a:bot", "system:serviceaccount:b:bot"]) {
    for (const groups of [[], ["ann"], ["staff"]]) {
      for (const namespace of ["", "a", "b"]) {
        const grants = [...index.grantsOf({ user, groups }, namespace)];
        found[`${user} ${groups.join()} ${namespace}`] = grants.map((grant) => JSON.stringify(grant)).sort();
      }
    }
  }
  return found;
}
