/** A raw TCP splice on Node: the least that any proxy on this runtime costs. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

const [host = "", port = ""] = process.argv.slice(2);

const server = createServer({ noDelay: true }, (caller) => {
  const sandbox = connect({ host, port: Number(port), noDelay: true });
  caller.pipe(sandbox);
  sandbox.pipe(caller);
  caller.on("error", () => sandbox.destroy());
  sandbox.on("error", () => caller.destroy());
});
server.listen({ host: "127.0.0.1", port: 0 });
await once(server, "listening");
console.log(JSON.stringify({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }));
