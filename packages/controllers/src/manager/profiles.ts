import { Session } from "node:inspector/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getHeapSnapshot } from "node:v8";
import type { Handler } from "./plain-server.ts";

const defaultSeconds = 30;
const mostSeconds = 300;

/**
 * `/debug/pprof/profile?seconds=N` returns a `.cpuprofile`; with `all`, `/debug/pprof/heap` returns a heap snapshot. Only one
 * profile is recorded at a time.
 */
export function profilesOf(all: boolean): ReadonlyMap<string, Handler> {
  let busy = false;
  const alone =
    (answer: Handler): Handler =>
    async (request, response, url) => {
      if (busy) throw new Error("Cannot profile: another profile is being taken");
      busy = true;
      try {
        await answer(request, response, url);
      } finally {
        busy = false;
      }
    };
  const profiles = new Map<string, Handler>([["/debug/pprof/profile", alone(processorProfile)]]);
  if (all) profiles.set("/debug/pprof/heap", alone(heapSnapshot));
  return profiles;
}

const processorProfile: Handler = async (_request, response, url) => {
  const seconds = Number(url.searchParams.get("seconds") ?? defaultSeconds);
  if (!(seconds > 0 && seconds <= mostSeconds)) {
    response
      .writeHead(400)
      .end(`Cannot profile for "${url.searchParams.get("seconds")}" seconds: want 1 to ${mostSeconds}\n`);
    return;
  }
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await sleep(seconds * 1000);
    const { profile } = await session.post("Profiler.stop");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(profile));
  } finally {
    session.disconnect();
  }
};

const heapSnapshot: Handler = async (_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  for await (const chunk of getHeapSnapshot()) response.write(chunk);
  response.end();
};
