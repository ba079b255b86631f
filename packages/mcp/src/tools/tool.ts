import { isSandboxError } from "@agent-sandbox/sdk";
import type { CallToolResult, ContentBlock, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Call } from "../caller.ts";
import { failureText } from "../results/failure-text.ts";
import { visible } from "../results/visible.ts";

/** A tool as it is registered. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  call(args: unknown, call: Call): Promise<CallToolResult>;
}

export interface Answer<O> {
  readonly structured: O;
  /** For hosts that show only text. Default: the structured answer as JSON. */
  readonly text?: string;
  readonly more?: readonly ContentBlock[];
}

export interface ToolDefinition<I extends z.ZodObject, O extends z.ZodObject>
  extends Omit<Tool, "input" | "output" | "call"> {
  readonly input: I;
  readonly output: O;
  readonly run: (args: z.output<I>, call: Call) => Promise<Answer<z.output<O>>>;
}

/** A failure of the operation is a result that says what to do next. A cancelled call rejects, because nobody waits for its answer. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(definition: ToolDefinition<I, O>): Tool {
  const { run, ...rest } = definition;
  return {
    ...rest,
    async call(args, call) {
      try {
        const { structured, text, more = [] } = await run(args as z.output<I>, call);
        // Some hosts refuse an empty text.
        const shown = visible(text ?? JSON.stringify(structured)) || "[empty]";
        return { content: [{ type: "text", text: shown }, ...more], structuredContent: { ...structured } };
      } catch (error) {
        if (call.signal.aborted || !isSandboxError(error)) throw error;
        return { content: [{ type: "text", text: visible(failureText(error)) }], isError: true };
      }
    },
  };
}
