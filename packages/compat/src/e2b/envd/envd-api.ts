import { HttpError, notFound } from "../../http/http-error.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import { usageOf } from "../../runtime/usage.ts";
import { serveClientStream } from "./client-stream.ts";
import type { EnvdCall } from "./context.ts";
import { serveFiles } from "./files-route.ts";
import * as filesystem from "./filesystem-service.ts";
import { sandboxEnvironment } from "./process-environment.ts";
import * as processes from "./process-service.ts";
import { type StreamMethod, serveStream, serveUnary, type UnaryMethod } from "./rpc.ts";
import { startProcess } from "./start-process.ts";

const unary: Readonly<Record<string, UnaryMethod>> = {
  "/process.Process/List": processes.listProcesses,
  "/process.Process/SendInput": processes.sendInput,
  "/process.Process/CloseStdin": processes.closeInput,
  "/process.Process/SendSignal": processes.sendSignal,
  "/process.Process/Update": processes.updateProcess,
  "/filesystem.Filesystem/Stat": filesystem.stat,
  "/filesystem.Filesystem/ListDir": filesystem.listDir,
  "/filesystem.Filesystem/MakeDir": filesystem.makeDir,
  "/filesystem.Filesystem/Move": filesystem.move,
  "/filesystem.Filesystem/Remove": filesystem.remove,
  "/filesystem.Filesystem/CreateWatcher": filesystem.createWatcher,
  "/filesystem.Filesystem/GetWatcherEvents": filesystem.getWatcherEvents,
  "/filesystem.Filesystem/RemoveWatcher": filesystem.removeWatcher,
};

const processKeepAlive = { event: { keepalive: {} } };

const streams: Readonly<Record<string, readonly [StreamMethod, object]>> = {
  "/process.Process/Start": [startProcess, processKeepAlive],
  "/process.Process/Connect": [processes.connectProcess, processKeepAlive],
  "/filesystem.Filesystem/WatchDir": [filesystem.watchDir, { keepalive: {} }],
};

/** The protocol of E2B's daemon, for a request whose token was verified. */
export async function serveEnvd(call: EnvdCall): Promise<void> {
  const { url, request, response, context, target, signal } = call;
  const { pathname } = url;
  if (pathname === "/files") return serveFiles(call);
  if (pathname === "/health") {
    await context.runtime
      .send(target, { port: 8080, method: "GET", path: "/v1/health", signal })
      .then((answer) => answer.resume());
    return sendEmpty(response, 204);
  }
  if (pathname === "/envs") return sendJson(response, 200, await sandboxEnvironment(call));
  if (pathname === "/metrics") return sendJson(response, 200, await metrics(call));
  if (request.method !== "POST") throw notFound(`${pathname.slice(0, 100)} is not part of this API`);
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim();
  const method = Object.hasOwn(unary, pathname) ? unary[pathname] : undefined;
  if (method !== undefined) {
    requireType(type, "application/json");
    return serveUnary(call, method);
  }
  if (pathname === "/process.Process/StreamInput") {
    requireType(type, "application/connect+json");
    return serveClientStream(call, processes.streamInput);
  }
  const [stream, keepAlive] = (Object.hasOwn(streams, pathname) ? streams[pathname] : undefined) ?? [];
  if (stream === undefined || keepAlive === undefined)
    throw notFound(`${pathname.slice(0, 100)} is not part of this API`);
  requireType(type, "application/connect+json");
  return serveStream(call, stream, keepAlive);
}

function requireType(given: string | undefined, wanted: string): void {
  if (given !== wanted) throw new HttpError(415, `Content-Type must be ${wanted}`);
}

const mebi = 2 ** 20;

async function metrics({ context, target, signal }: EnvdCall): Promise<object> {
  const usage = await usageOf(context.runtime, target, signal);
  return {
    ts: Math.floor(Date.now() / 1000),
    cpu_count: usage.cpuCount,
    cpu_used_pct: usage.cpuUsedPct,
    mem_total: usage.memTotal,
    mem_used: usage.memUsed,
    mem_cache: usage.memCache,
    mem_total_mib: Math.floor(usage.memTotal / mebi),
    mem_used_mib: Math.floor(usage.memUsed / mebi),
    disk_used: usage.diskUsed,
    disk_total: usage.diskTotal,
  };
}
