import type { StateReason } from "@agent-sandbox/api";

/** Why state could not be saved or restored. The reason and message appear in a condition of the Pod or snapshot. */
export class StateError extends Error {
  override readonly name = "StateError";
  readonly reason: StateReason;

  constructor(reason: StateReason, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}
