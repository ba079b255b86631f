import { randomUUID } from "node:crypto";
import { type CodeContext, CodeContexts, type ContextSpec } from "../../runtime/code-contexts.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import { actingUser } from "../envd/acting-user.ts";
import type { EnvdCall } from "../envd/context.ts";
import { sandboxEnvironment } from "../envd/process-environment.ts";
import { PlainError } from "./plain-error.ts";

const contextsOf = ({ context, target, signal }: EnvdCall): CodeContexts =>
  new CodeContexts(context.runtime, target, signal);

export function listContexts(call: EnvdCall): Promise<readonly CodeContext[]> {
  return contextsOf(call).list();
}

export async function findContext(call: EnvdCall, id: string): Promise<CodeContext> {
  const found = await contextsOf(call).find(id);
  if (found === undefined) throw new PlainError(404, `Context ${id.slice(0, 64)} not found`);
  return found;
}

export function newContext(call: EnvdCall, wanted: Wanted): Promise<CodeContext> {
  return createContext(call, randomUUID(), wanted);
}

/** One for each language. It is made when code first runs in it. */
export async function defaultContext(call: EnvdCall, language: string): Promise<string> {
  const name = `default-${language}`;
  await explained(contextsOf(call).ensure(await specOf(call, name, { language })));
  return name;
}

export function removeContext(call: EnvdCall, id: string): Promise<void> {
  return contextsOf(call).remove(id);
}

/** Its variables are gone, its id stays. */
export async function restartContext(call: EnvdCall, id: string): Promise<void> {
  const { language, cwd } = await findContext(call, id);
  await removeContext(call, id);
  await createContext(call, id, { language, cwd });
}

interface Wanted {
  readonly language: string;
  readonly cwd?: string | undefined;
}

async function createContext(call: EnvdCall, name: string, wanted: Wanted): Promise<CodeContext> {
  return explained(contextsOf(call).create(await specOf(call, name, wanted)));
}

async function specOf(call: EnvdCall, name: string, { language, cwd }: Wanted): Promise<ContextSpec> {
  const user = await actingUser(call, undefined);
  return {
    name,
    language,
    cwd: cwd ?? user.home,
    // The data of figures is in their results too.
    env: { SANDBOXD_CHARTS: "1", ...(await sandboxEnvironment(call)) },
    ...(user.name !== undefined && { user: user.name }),
  };
}

async function explained<T>(creating: Promise<T>): Promise<T> {
  try {
    return await creating;
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    throw new PlainError(error.status === 409 ? 409 : 500, error.message);
  }
}
