/** How a host starts the server, or where it reaches it. Its token is in the variable `AGENT_SANDBOX_TOKEN`. */
export type Endpoint = { readonly command: string; readonly args: readonly string[] } | { readonly url: string };

interface Host {
  /** Where its users put the text. */
  readonly place: string;
  readonly print: (endpoint: Endpoint) => string;
}

const name = "sandbox";
const variable = "AGENT_SANDBOX_TOKEN";

const json = (value: object): string => JSON.stringify(value, undefined, 2);

/** A server in the form that most hosts share. `header` is the value of `Authorization` in the syntax of the host. */
const entry = (endpoint: Endpoint, url: string, header: string, more: object = {}): object =>
  "url" in endpoint
    ? { ...more, [url]: endpoint.url, headers: { Authorization: header } }
    : { command: endpoint.command, args: endpoint.args };

const table: Readonly<Record<string, Host>> = {
  "claude-code": {
    place: "run this command; or put the same into .mcp.json of a project",
    print: (endpoint) =>
      "url" in endpoint
        ? `claude mcp add --transport http ${name} ${quoted(endpoint.url)} --header "Authorization: Bearer $${variable}"`
        : `claude mcp add ${name} -- ${[endpoint.command, ...endpoint.args].map(quoted).join(" ")}`,
  },
  "claude-desktop": {
    place: "claude_desktop_config.json (Settings > Developer > Edit Config)",
    print: (endpoint) =>
      json({
        mcpServers: {
          [name]:
            "url" in endpoint
              ? {
                  command: "npx",
                  // A space in an argument is lost on some systems.
                  args: ["-y", "mcp-remote", endpoint.url, "--header", `Authorization:\${AUTHORIZATION}`],
                  env: { AUTHORIZATION: "Bearer TOKEN" },
                }
              : endpoint,
        },
      }),
  },
  codex: {
    place: "~/.codex/config.toml",
    print: (endpoint) => {
      const lines =
        "url" in endpoint
          ? [`url = ${JSON.stringify(endpoint.url)}`, `bearer_token_env_var = ${JSON.stringify(variable)}`]
          : [
              `command = ${JSON.stringify(endpoint.command)}`,
              `args = [${endpoint.args.map((word) => JSON.stringify(word)).join(", ")}]`,
            ];
      return [`[mcp_servers.${name}]`, ...lines].join("\n");
    },
  },
  cursor: {
    place: ".cursor/mcp.json in the project or the home directory",
    print: (endpoint) => json({ mcpServers: { [name]: entry(endpoint, "url", `Bearer \${env:${variable}}`) } }),
  },
  "gemini-cli": {
    place: "~/.gemini/settings.json",
    print: (endpoint) => json({ mcpServers: { [name]: entry(endpoint, "httpUrl", `Bearer $${variable}`) } }),
  },
  vscode: {
    place: ".vscode/mcp.json in the project",
    print: (endpoint) => {
      const type = "url" in endpoint ? "http" : "stdio";
      const server = { type, ...entry(endpoint, "url", "Bearer ${input:token}") };
      const input = { id: "token", type: "promptString", description: "Token", password: true };
      return json({ servers: { [name]: server }, ...("url" in endpoint && { inputs: [input] }) });
    },
  },
};

/** The hosts whose configuration can be printed. */
export const hosts: readonly string[] = Object.keys(table);

/** The configuration of a host, and where it belongs. Undefined for a host that is not known. */
export function hostSnippet(
  host: string,
  endpoint: Endpoint,
): { readonly place: string; readonly text: string } | undefined {
  const found = Object.hasOwn(table, host) ? table[host] : undefined;
  return found && { place: found.place, text: found.print(endpoint) };
}

/** A word of a command for a shell. */
function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
