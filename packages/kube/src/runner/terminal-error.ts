/** Thrown by a reconcile when trying again cannot help: the key rests until something about it changes. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}
