import { posix } from "node:path";
import { mainContainer } from "../lifecycle/sandbox-json.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest } from "./execd-error.ts";
import { addedVariables } from "./process-variables.ts";

/** How paths of clients are understood in one sandbox. */
export interface Paths {
  readonly workFolder: string;
  /** An absolute path for one that is relative, begins with `~`, or contains variables. */
  resolve(path: string): string;
}

const maxLength = 4096;

export async function pathsOf(call: ExecdCall): Promise<Paths> {
  const { context, target, signal } = call;
  const [workFolder, users, variables] = await Promise.all([
    context.workFolders.of(target),
    context.users.of(target, undefined, signal),
    variablesOf(call),
  ]);
  const wanted = variables["SANDBOXD_USER"] ?? variables["SANDBOXD_ENSURE_USER"];
  const own = users.find(({ name, uid }) => (wanted === undefined ? uid === 0 : name === wanted));
  const home = own?.home ?? "/";
  return {
    workFolder,
    resolve: (path) => resolvePath(path, { workFolder, home, variables: { HOME: home, ...variables } }),
  };
}

async function variablesOf(call: ExecdCall): Promise<Readonly<Record<string, string>>> {
  const { context, target } = call;
  const machine = context.directory.machine(target.namespace, target.name);
  const own = mainContainer(machine?.sandbox)?.env ?? [];
  return {
    ...Object.fromEntries(own.map(({ name, value = "" }) => [name, value])),
    ...(await context.environments.of(machine?.claim)),
    ...(await addedVariables(call)),
  };
}

interface Surroundings {
  readonly workFolder: string;
  readonly home: string;
  readonly variables: Readonly<Record<string, string>>;
}

const variable = /\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

export function resolvePath(path: string, { workFolder, home, variables }: Surroundings): string {
  const expanded = path.replace(variable, (_, braced?: string, plain?: string) => {
    const name = braced ?? plain ?? "";
    return Object.hasOwn(variables, name) ? (variables[name] ?? "") : "";
  });
  if (expanded === "" || expanded.includes("\0") || expanded.length > maxLength) {
    throw invalidRequest(`A path must have 1 to ${maxLength} characters, and no NUL character`);
  }
  if (expanded === "~" || expanded.startsWith("~/")) return posix.join(home, expanded.slice(1));
  return posix.resolve(workFolder, expanded);
}
