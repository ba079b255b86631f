import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { pipeline } from "node:stream/promises";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { refusalOf, requestOptions } from "../client/raw-request.ts";
import { podOf, podPath, sessionError } from "../client/sandbox-pod.ts";
import { Session } from "../client/session-end.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";

export interface LogsOptions extends GlobalOptions {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tail?: string;
  readonly since?: string;
  readonly container?: string;
}

export async function logs(sandbox: string, options: LogsOptions): Promise<void> {
  const query = logQuery(options);
  await using connection = await connect(options);
  const pod = await podOf(connection, sandbox, { wakes: options.follow === true });
  const path = podPath(connection.namespace, pod.name, "log");
  const { url, ...request } = await requestOptions(connection.access, `${path}?${query.toString()}`);
  const sent = url.startsWith("https:") ? getHttps(url, request) : getHttp(url, request);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw sessionError(new CommandError(await refusalOf(response)), pod);
  using session = new Session(connection, pod);
  await pipeline(response, process.stdout, { end: false });
  const why = options.follow === true ? await session.why("") : undefined;
  if (why !== undefined) console.error(why);
}

export function logQuery(options: LogsOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const flag of ["follow", "previous", "timestamps"] as const) if (options[flag]) query.set(flag, "true");
  if (options.container !== undefined) query.set("container", options.container);
  if (options.since !== undefined) query.set("sinceSeconds", String(Math.ceil(parseDuration(options.since) / 1000)));
  if (options.tail === undefined) return query;
  if (!/^\d{1,15}$/.test(options.tail))
    throw new CommandError(`--tail must be a number of lines, not "${options.tail}"`);
  query.set("tailLines", options.tail);
  return query;
}
