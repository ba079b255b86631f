import { describe, expect, test } from "vitest";
import { hostSnippet, hosts } from "./host-snippet.ts";

const stdio = { command: "/opt/agent-sandbox", args: ["mcp", "--workspace", "it's mine"] };
const http = { url: "http://127.0.0.1:7682/mcp?namespace=team-a" };
const textOf = (host: string, endpoint: typeof stdio | typeof http): string => hostSnippet(host, endpoint)?.text ?? "";

describe("hostSnippet()", () => {
  test.for(["claude-desktop", "cursor", "gemini-cli"])("%s gets the command and its words", (host) => {
    expect(JSON.parse(textOf(host, stdio))).toEqual({ mcpServers: { sandbox: stdio } });
  });
  test("VS Code has its own form, and asks for the token", () => {
    expect(JSON.parse(textOf("vscode", stdio))).toEqual({ servers: { sandbox: { type: "stdio", ...stdio } } });
    const { servers, inputs } = JSON.parse(textOf("vscode", http));
    const headers = { Authorization: `Bearer \${input:token}` };
    expect(servers).toEqual({ sandbox: { type: "http", ...http, headers } });
    expect(inputs).toEqual([expect.objectContaining({ id: "token", password: true })]);
  });
  test("words of a command are quoted for a shell", () => {
    expect(textOf("claude-code", stdio)).toBe(
      String.raw`claude mcp add sandbox -- /opt/agent-sandbox mcp --workspace 'it'\''s mine'`,
    );
    expect(textOf("claude-code", http)).toContain("'http://127.0.0.1:7682/mcp?namespace=team-a' --header");
  });
  test("Codex has TOML", () => {
    expect(textOf("codex", stdio)).toBe(
      '[mcp_servers.sandbox]\ncommand = "/opt/agent-sandbox"\nargs = ["mcp", "--workspace", "it\'s mine"]',
    );
    expect(textOf("codex", http)).toContain('bearer_token_env_var = "AGENT_SANDBOX_TOKEN"');
  });
  test("no text contains a token, and every host has a place", () => {
    for (const host of hosts) {
      expect(hostSnippet(host, http)?.place).not.toBe("");
      expect(textOf(host, http)).toContain(http.url);
    }
  });
  test.for(["", "toString", "__proto__", "claude"])("%j is no host", (host) => {
    expect(hostSnippet(host, stdio)).toBeUndefined();
  });
});
