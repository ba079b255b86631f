/**
 * The program of the process inside a network namespace: it receives `{ id, port }` and answers `{ id }` with a connected
 * socket, or `{ id, failure }`. Its source text is passed to `node --eval`, so it must not refer to anything outside of itself.
 */
export function serveDials(): void {
  const { connect } = process.getBuiltinModule("node:net");
  const dial = (id: number, port: number, [host, ...others]: string[], failure?: string): void => {
    if (host === undefined) return void process.send?.({ id, failure });
    const socket = connect({ host, port, allowHalfOpen: true });
    // Do not read: the first bytes of the server belong to the client.
    socket.pause();
    socket.once("error", (error) => dial(id, port, others, failure ?? error.message));
    socket.once("connect", () => process.send?.({ id }, socket));
  };
  process.on("message", ({ id, port }: { id: number; port: number }) => dial(id, port, ["127.0.0.1", "::1"]));
  process.on("disconnect", () => process.exit());
}
