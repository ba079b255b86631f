import { createApiServer } from "../create-api-server.ts";

/** Serves a data folder over HTTPS and prints the address. Ends only when it is killed or when the test process ends. */
const server = await createApiServer({ dataDir: process.argv[2], history: { maxChanges: 200, maxAgeMs: 60_000 } });
const { port, authority, token } = await server.listen();
console.log(JSON.stringify({ port, authority, token }));
process.stdin.resume().once("end", () => process.kill(process.pid, "SIGKILL"));
