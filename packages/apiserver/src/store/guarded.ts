/** Freezing costs as much as saving: only tests and those who ask for it pay. */
const guarding = process.env["NODE_ENV"] === "test" || process.env["AGENT_SANDBOX_FREEZE"] === "1";

/** A stored object, which is shared by all who read it: under test, whoever changes it gets a TypeError. */
export function guarded<T>(object: T): T {
  if (guarding) freeze(object);
  return object;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
