import type { ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { Progress } from "./progress.ts";

interface Sent {
  readonly params: { readonly progress: number; readonly message: string };
}

function contextOf(token: string | undefined, sent: Sent[]): ServerContext {
  const notify = async (one: unknown): Promise<void> => void sent.push(one as Sent);
  return { mcpReq: { _meta: { progressToken: token }, notify } } as unknown as ServerContext;
}

describe("Progress", () => {
  test("sends the newest message, as visible text of at most 200 characters", async () => {
    const sent: Sent[] = [];
    using progress = new Progress(contextOf("t", sent));
    progress.report("old");
    progress.report(`${"x".repeat(300)}\u001b\n`);
    await expect.poll(() => sent).toHaveLength(1);
    expect(sent[0]?.params).toEqual({ progressToken: "t", progress: 1, message: `${"x".repeat(199)}␛` });
  });
  test("sends nothing without a token, and nothing after its end", async () => {
    const sent: Sent[] = [];
    using silent = new Progress(contextOf(undefined, sent));
    silent.report("a");
    const ended = new Progress(contextOf("t", sent));
    ended.report("b");
    ended[Symbol.dispose]();
    ended.report("c");
    using last = new Progress(contextOf("t", sent));
    last.report("d");
    await expect.poll(() => sent.map(({ params }) => params.message)).toEqual(["d"]);
  });
});
