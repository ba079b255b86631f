import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Address, type Answer, ask, type Question } from "../data-plane/ask.ts";
import type { Tenant } from "./tenant.ts";
import type { World } from "./world.ts";

// oxlint-disable-next-line typescript/no-explicit-any
export type Loose = any;

export interface McpQuestion extends Omit<Question, "body"> {
  /** Default: `/mcp` with the tenant's namespace. */
  readonly target?: string;
  readonly id?: number;
}

/** A tenant that uses the MCP server of the box, with messages that a client library would not send. */
export class McpCaller {
  readonly listener: Address;
  readonly tenant: Tenant;

  constructor({ box }: World, tenant: Tenant) {
    const record = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { readonly compatUrl: string };
    const { hostname, port } = new URL(record.compatUrl);
    this.listener = { host: hostname, port: Number(port) };
    this.tenant = tenant;
  }

  get headers(): Record<string, string> {
    return {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      authorization: `Bearer ${this.tenant.account.token}`,
    };
  }

  post(message: object | string, { target, headers = {}, ...rest }: McpQuestion = {}): Promise<Answer> {
    const body = typeof message === "string" ? message : JSON.stringify(message);
    const path = target ?? `/mcp?namespace=${this.tenant.namespace}`;
    return ask(this.listener, path, {
      method: "POST",
      ...rest,
      headers: { ...this.headers, ...(headers as object) },
      body,
    });
  }

  request(method: string, params: object, { id = 1, ...question }: McpQuestion = {}): Promise<Answer> {
    return this.post({ jsonrpc: "2.0", id, method, params }, question);
  }

  call(name: string, args: object = {}, question: McpQuestion = {}): Promise<Answer> {
    return this.request("tools/call", { name, arguments: args }, question);
  }

  /** The structured result of a tool, which must succeed. */
  async use(name: string, args: object = {}): Promise<Loose> {
    const answer = await this.call(name, args);
    const { result } = messageOf(answer);
    if (result === undefined || result.isError === true) throw new Error(`${name} failed: ${answer.text}`);
    return result.structuredContent;
  }

  /** The text of a tool, which must fail. */
  async failure(name: string, args: object = {}): Promise<string> {
    const answer = await this.call(name, args);
    const { result } = messageOf(answer);
    if (result?.isError !== true) throw new Error(`${name} did not fail: ${answer.text}`);
    return result.content[0].text as string;
  }
}

/** The last message of an answer, which is a stream or a document. */
export function messageOf({ text }: Answer): Loose {
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => data);
  return JSON.parse(events.at(-1) ?? text);
}
