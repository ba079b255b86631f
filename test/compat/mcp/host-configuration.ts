import { execFileSync } from "node:child_process";
import type { Loose } from "../loose.ts";
import type { Launch } from "./mcp-host.ts";

/** The environment of the host, and what its user types when it asks. */
export interface HostWorld {
  readonly variables: Readonly<Record<string, string>>;
  readonly typed: string;
}

/** How each host reads its configuration: the server `sandbox` of a text. */
const readers: Readonly<Record<string, (text: string, world: HostWorld) => Launch>> = {
  "claude-code": (text, world) =>
    text.startsWith("claude ") ? fromCommand(text, world) : fromJson(text, "mcpServers", braces(world)),
  "claude-desktop": (text) => fromJson(text, "mcpServers", (value) => value),
  codex: fromToml,
  cursor: (text, world) => fromJson(text, "mcpServers", (value) => expand(value, /\$\{env:(\w+)\}/g, world)),
  "gemini-cli": (text, world) => fromJson(text, "mcpServers", (value) => expand(value, /\$\{?(\w+)\}?/g, world)),
  vscode: (text, { typed }) => {
    const { inputs = [] } = JSON.parse(text) as { inputs?: readonly { id: string }[] };
    const answer = (_: string, id: string): string => {
      if (inputs.some((input) => input.id === id)) return typed;
      throw new Error(`The input ${id} is not declared`);
    };
    return fromJson(text, "servers", (value) => value.replaceAll(/\$\{input:(\w+)\}/g, answer));
  },
};

export function readConfiguration(host: string, text: string, world: HostWorld): Launch {
  const reader = readers[host];
  if (reader === undefined) throw new Error(`No test knows how ${host} reads its configuration`);
  return reader(text, world);
}

type Expand = (value: string) => string;

const braces =
  (world: HostWorld): Expand =>
  (value) =>
    expand(value, /\$\{(\w+)\}/g, world);

function expand(value: string, pattern: RegExp, { variables }: HostWorld): string {
  return value.replaceAll(pattern, (_, name: string) => {
    const found = variables[name];
    if (found === undefined) throw new Error(`The variable ${name} is not set`);
    return found;
  });
}

function fromJson(text: string, root: string, expanded: Expand): Launch {
  const { sandbox: server }: Loose = JSON.parse(text)[root];
  const each = (values: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expanded(value)]));
  if (server.command !== undefined) {
    if (server.type !== undefined && server.type !== "stdio") throw new Error(`A command has the type ${server.type}`);
    return { command: server.command, args: server.args.map(expanded), env: each(server.env) };
  }
  if (server.type !== undefined && server.type !== "http") throw new Error(`An address has the type ${server.type}`);
  return { url: expanded(server.url ?? server.httpUrl), headers: each(server.headers) };
}

/** The command of Claude Code, after the shell has read it. */
function fromCommand(text: string, { variables }: HostWorld): Launch {
  const script = `claude() { printf '%s\\0' "$@"; }\n${text}`;
  const output = execFileSync("bash", ["--norc", "-euc", script], {
    env: { ...variables },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const words = output.split("\0").slice(0, -1);
  const split = words.indexOf("--");
  const [mcp, add, ...options] = split === -1 ? words : words.slice(0, split);
  if (mcp !== "mcp" || add !== "add") throw new Error(`Not a command that adds a server: ${text}`);
  if (split !== -1) {
    const [command = "", ...args] = words.slice(split + 1);
    if (options.join(" ") !== "sandbox") throw new Error(`Options that are not known: ${options.join(" ")}`);
    return { command, args };
  }
  const [flag, transport, name, url = "", header, line = ""] = options;
  if ([flag, transport, name, header].join(" ") !== "--transport http sandbox --header") {
    throw new Error(`Options that are not known: ${options.join(" ")}`);
  }
  const [, key = "", value = ""] = /^([\w-]+): (.*)$/.exec(line) ?? [];
  return { url, headers: { [key]: value } };
}

/** Only strings and lists of strings, which are the same as in JSON. */
function fromToml(text: string, { variables }: HostWorld): Launch {
  const [head, ...lines] = text.trim().split("\n");
  if (head !== "[mcp_servers.sandbox]") throw new Error(`Not a table of Codex: ${head}`);
  const table: Loose = Object.fromEntries(
    lines.map((line) => {
      const [key = "", value = ""] = line.split(/ = (.*)/s);
      return [key, JSON.parse(value)];
    }),
  );
  if (table["command"] !== undefined) return { command: table["command"], args: table["args"] };
  const token = variables[table["bearer_token_env_var"]];
  return { url: table["url"], headers: { authorization: `Bearer ${token}` } };
}
