import { followResource } from "@agent-sandbox/kube";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { discover, displayName, resolveResource } from "../client/discovery.ts";
import { meets, parseDuration, parseWaitedCondition } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";

export interface WaitOptions extends GlobalOptions {
  readonly for: string;
  readonly timeout: string;
}

export async function wait(target: string, options: WaitOptions): Promise<void> {
  const wanted = parseWaitedCondition(options.for);
  const timeoutMs = parseDuration(options.timeout);
  const [type = "", name] = target.split("/");
  if (!name) throw new CommandError(`Cannot wait for "${target}": write type/name, as in sandbox/my-sandbox`);
  await using connection = await connect(options);
  const resource = resolveResource(type, await discover(connection.transport));
  const signal = AbortSignal.timeout(timeoutMs);
  const scope = resource.namespaced ? { namespace: connection.namespace } : {};
  const feed = followResource(connection.client, resource, {
    ...scope,
    signal,
    fieldSelector: `metadata.name=${name}`,
    initial: "list",
  });
  for await (const change of feed) {
    const objects = change.type === "reset" ? change.items : change.events.map(({ object }) => object);
    if (change.type === "reset" && objects.length === 0)
      throw new CommandError(`${displayName(resource, name)} not found`);
    if (!objects.some((object) => meets(object, wanted))) continue;
    console.log(`${displayName(resource, name)} condition met`);
    return;
  }
  throw new CommandError(`timed out waiting for the condition on ${displayName(resource, name)}`);
}
