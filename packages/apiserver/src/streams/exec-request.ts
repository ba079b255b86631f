import type { ExecRequest } from "@agent-sandbox/kube";
import { ApiError, badRequest, type ErrorSubject, notFound } from "../api-error.ts";
import { type ApiObject, stringAt, valueAt } from "../api-object.ts";
import type { Query } from "../request/query.ts";

/** What a client asks of `pods/exec`. */
export interface ExecOptions extends ExecRequest {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface ExecPlace {
  readonly namespace: string;
  readonly pod: string;
}

/** Reads an exec request and checks it against the Pod, so that what cannot work fails before anything is started. */
export function execOptions(place: ExecPlace, query: Query, pod: ApiObject | undefined): ExecOptions {
  const subject: ErrorSubject = { group: "", plural: "pods", name: place.pod };
  if (pod === undefined) throw notFound(subject);
  const command = query.all("command");
  if (command.length === 0 || command[0] === "")
    throw badRequest("you must specify at least one command for the container");
  const options = {
    ...place,
    container: containerOf(pod, query.text("container")),
    command,
    tty: query.flag("tty"),
    stdin: query.flag("stdin"),
    stdout: query.flag("stdout"),
    stderr: query.flag("stderr"),
  };
  if (!options.stdin && !options.stdout && !options.stderr)
    throw badRequest("you must specify at least one of stdin, stdout, stderr");
  if (options.tty && options.stderr) throw badRequest("tty and stderr cannot both be true");
  checkRunning(pod, options.container);
  return options;
}

function containerOf(pod: ApiObject, asked: string | undefined): string {
  const list = valueAt(pod, "spec", "containers");
  const names = (Array.isArray(list) ? list : []).flatMap((each) => stringAt(each, "name") ?? []);
  const { name } = pod.metadata;
  if (asked === undefined || asked === "") {
    if (names.length === 1) return names[0] as string;
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`);
  }
  if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
  return asked;
}

function checkRunning(pod: ApiObject, container: string): void {
  const phase = stringAt(pod, "status", "phase");
  if (phase === "Succeeded" || phase === "Failed") {
    throw badRequest(`cannot exec into a container in a completed pod; current phase is ${phase}`);
  }
  const statuses = valueAt(pod, "status", "containerStatuses");
  const status: unknown = Array.isArray(statuses)
    ? statuses.find((each) => stringAt(each, "name") === container)
    : undefined;
  if (phase === "Running" && valueAt(status, "state", "running") !== undefined) return;
  throw new ApiError("InternalError", `unable to upgrade connection: container not running ("${container}")`);
}
