import { findCondition, isConditionTrue, type Sandbox } from "@agent-sandbox/api";

/** Whether the Sandbox will never have a Pod again. */
export function isOver({ metadata, status }: Sandbox): boolean {
  return (
    metadata.deletionTimestamp !== undefined ||
    findCondition(status?.conditions, "Ready")?.reason === "SandboxExpired" ||
    isConditionTrue(status?.conditions, "Finished")
  );
}
