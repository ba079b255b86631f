import { randomUUID } from "node:crypto";
import { callRest, RuntimeError, tellRest } from "../../runtime/rest.ts";
import { actingUser } from "../envd/acting-user.ts";
import type { EnvdCall } from "../envd/context.ts";
import { sandboxEnvironment } from "../envd/process-environment.ts";
import { PlainError } from "./plain-error.ts";

/** A code context as clients see it. */
export interface CodeContext {
  readonly id: string;
  readonly language: string;
  readonly cwd: string;
}

interface RuntimeContext {
  readonly id: string;
  readonly name?: string;
  readonly language: string;
  readonly cwd: string;
}

/** The id that clients know is the name of the context, so that a restarted context keeps it. */
const shown = ({ id, name, language, cwd }: RuntimeContext): CodeContext => ({ id: name ?? id, language, cwd });

export async function listContexts({ context, target, signal }: EnvdCall): Promise<readonly CodeContext[]> {
  const answer = await callRest<{ contexts: readonly RuntimeContext[] }>(context.runtime, target, {
    method: "GET",
    path: "/v1/contexts",
    signal,
  });
  return answer.contexts.map(shown);
}

export async function findContext(call: EnvdCall, id: string): Promise<CodeContext> {
  const found = (await listContexts(call)).find((one) => one.id === id);
  if (found === undefined) throw new PlainError(404, `Context ${id.slice(0, 64)} not found`);
  return found;
}

export function newContext(
  call: EnvdCall,
  { language, cwd }: { readonly language: string; readonly cwd?: string | undefined },
): Promise<CodeContext> {
  return createContext(call, { name: randomUUID(), language, cwd });
}

/** One for each language. It is made when code first runs in it. */
export async function defaultContext(call: EnvdCall, language: string): Promise<string> {
  const name = `default-${language}`;
  const exists = (await listContexts(call)).some(({ id }) => id === name);
  if (exists) return name;
  try {
    await createContext(call, { name, language, cwd: undefined });
  } catch (error) {
    // Created by another call in the meantime.
    if (!(error instanceof PlainError) || error.status !== 409) throw error;
  }
  return name;
}

export async function removeContext({ context, target, signal }: EnvdCall, id: string): Promise<void> {
  await tellRest(context.runtime, target, `/v1/contexts/${encodeURIComponent(id)}`, { method: "DELETE", signal });
}

/** Its variables are gone, its id stays. */
export async function restartContext(call: EnvdCall, id: string): Promise<void> {
  const { language, cwd } = await findContext(call, id);
  await removeContext(call, id);
  await createContext(call, { name: id, language, cwd });
}

async function createContext(
  call: EnvdCall,
  { name, language, cwd }: { readonly name: string; readonly language: string; readonly cwd: string | undefined },
): Promise<CodeContext> {
  const { context, target, signal } = call;
  const user = await actingUser(call, undefined);
  const spec = {
    name,
    language,
    cwd: cwd ?? user.home,
    env: await sandboxEnvironment(call),
    ...(user.name !== undefined && { user: user.name }),
  };
  try {
    const body = JSON.stringify(spec);
    const headers = { "content-type": "application/json" };
    const created = await callRest<RuntimeContext>(context.runtime, target, {
      method: "POST",
      path: "/v1/contexts",
      headers,
      body,
      signal,
    });
    return shown(created);
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    throw new PlainError(error.status === 409 ? 409 : 500, error.message);
  }
}
