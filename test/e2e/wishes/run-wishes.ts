import type { Topic } from "./wish.ts";

export const runWishes: Topic = {
  title: "Run something once",
  wishes: [
    {
      wish: "Run one command where it can do no harm",
      commands: "agent-sandbox run --rm -- echo hello",
      output: "hello",
    },
    {
      wish: "Run some Python",
      commands: "agent-sandbox run --rm -- python3 -c 'print(6 * 7)'",
      output: "42",
    },
    {
      wish: "Give a program my data, and use its output in a pipe",
      commands: `printf '30\\n4\\n100\\n' | agent-sandbox run --rm -i -- sort -n | tail -1`,
      output: "100",
    },
    {
      wish: "Know whether the program failed",
      commands: "agent-sandbox run --rm -- sh -c 'exit 3'",
      output: "",
      status: 3,
    },
    {
      wish: "Pass settings in variables",
      commands: `export REGION=north
agent-sandbox run --rm -e REGION -e COLOR=blue -- sh -c 'echo $REGION $COLOR'`,
      output: "north blue",
    },
    {
      wish: "Stop a program that takes too long",
      commands: "timeout 3 agent-sandbox run --rm -- sleep 1000",
      output: "",
      status: 124,
    },
    {
      wish: "Limit processors and memory",
      commands: "agent-sandbox run --rm --cpus 0.5 --memory 256Mi -- python3 -c 'bytearray(10**9)'",
      output: "The sandbox ran out of memory and was killed\n…",
      status: 137,
    },
    {
      wish: "Know that nothing is left",
      commands: "agent-sandbox get sandboxes",
      output: "No resources found",
    },
  ],
};
