import type { AttachRequest, ExecRequest, PodPlace } from "@agent-sandbox/kube";
import { ApiError, badRequest } from "../api-error.ts";
import { type ApiObject, stringAt, valueAt } from "../api-object.ts";
import { existingPod } from "../pods/existing-pod.ts";
import type { Query } from "../request/query.ts";
import { containerOf, statusOf } from "./pod-container.ts";

/** The streams that a client requested. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Parses and checks a `pods/exec` request, so that invalid requests fail before anything is started. */
export function execOptions(place: PodPlace, query: Query, found: ApiObject | undefined): ExecRequest & WantedStreams {
  const pod = existingPod(found, place.pod);
  const command = query.all("command");
  if (command.length === 0 || command[0] === "")
    throw badRequest("you must specify at least one command for the container");
  const options = { ...place, container: containerOf(pod, query.text("container")), command, ...wanted(query) };
  checkRunning(pod, options.container, "exec into");
  return options;
}

/** The same for `pods/attach`. */
export function attachOptions(
  place: PodPlace,
  query: Query,
  found: ApiObject | undefined,
): AttachRequest & WantedStreams {
  const pod = existingPod(found, place.pod);
  const options = { ...place, container: containerOf(pod, query.text("container")), ...wanted(query) };
  checkRunning(pod, options.container, "attach to");
  return options;
}

function wanted(query: Query): WantedStreams {
  const streams = {
    tty: query.flag("tty"),
    stdin: query.flag("stdin"),
    stdout: query.flag("stdout"),
    stderr: query.flag("stderr"),
  };
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw badRequest("you must specify at least one of stdin, stdout, stderr");
  if (streams.tty && streams.stderr) throw badRequest("tty and stderr cannot both be true");
  return streams;
}

function checkRunning(pod: ApiObject, container: string, what: string): void {
  const phase = stringAt(pod, "status", "phase");
  if (phase === "Succeeded" || phase === "Failed") {
    throw badRequest(`cannot ${what} a container in a completed pod; current phase is ${phase}`);
  }
  if (phase === "Running" && valueAt(statusOf(pod, container), "state", "running") !== undefined) return;
  throw new ApiError("InternalError", `container not running ("${container}")`);
}
