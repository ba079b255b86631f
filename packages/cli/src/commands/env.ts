import { formatApiKey } from "@agent-sandbox/compat";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { CommandError } from "../command-error.ts";
import { ownToken } from "./token.ts";

/** What the variables of a client depend on. */
export interface ClientAddress {
  readonly url: string;
  readonly token: string;
  readonly namespace: string;
}

const clients: Readonly<Record<string, (address: ClientAddress) => Readonly<Record<string, string>>>> = {
  e2b: ({ url, token, namespace }) => ({
    E2B_API_URL: `${url}/e2b`,
    E2B_SANDBOX_URL: url,
    E2B_API_KEY: formatApiKey({ token, namespace }),
  }),
  opensandbox: ({ url, token, namespace }) => ({
    OPEN_SANDBOX_DOMAIN: new URL(url).host,
    OPEN_SANDBOX_API_KEY: `${token}@${namespace}`,
  }),
};

/** The clients whose variables can be printed. */
export const knownClients: readonly string[] = Object.keys(clients);

/** Prints the environment variables that point the clients of another platform at the box. */
export async function printEnv(client: string, options: GlobalOptions): Promise<void> {
  if (!Object.hasOwn(clients, client)) {
    throw new CommandError(`Cannot print the variables of "${client}": it can be ${knownClients.join(" or ")}`);
  }
  await using connection = await connect(options);
  const url = connection.box?.compatUrl;
  if (url === undefined) {
    throw new CommandError('the server has no listener for other clients: start a box with "agent-sandbox up"');
  }
  const { namespace } = connection;
  for (const line of exportsFor(client, { url, token: await ownToken(connection), namespace })) console.log(line);
}

/** Lines for a shell. */
export function exportsFor(client: string, address: ClientAddress): readonly string[] {
  const variables = clients[client]?.(address) ?? {};
  return Object.entries(variables).map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`);
}
