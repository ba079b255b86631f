import type { Topic } from "./wish.ts";

export const keepWishes: Topic = {
  title: "Keep a sandbox and work in it",
  wishes: [
    {
      wish: "Have a sandbox that stays",
      commands: "agent-sandbox create work -p 8000 -l team=shop",
      output: `sandbox.agents.x-k8s.io/work ready
port 8000: http://127.0.0.1:7680/sandboxes/default/work/8000/ (with a token; in the browser: agent-sandbox open work 8000)`,
    },
    {
      wish: "Run a command in it",
      commands: "agent-sandbox exec work -- hostname",
      output: "work",
    },
    {
      wish: "Write a file into it",
      commands: "echo 'Hello from work' | agent-sandbox cp - work:/root/index.html",
      output: "",
    },
    {
      wish: "Copy a folder into it",
      commands: `mkdir -p ~/project && echo 'print("built")' > ~/project/build.py
agent-sandbox cp ~/project work:/root/
agent-sandbox exec work -- python3 /root/project/build.py`,
      output: "built",
    },
    {
      wish: "Copy a result out of it",
      commands: `agent-sandbox exec work -- sh -c 'seq 3 > /root/result.txt'
agent-sandbox cp work:/root/result.txt ~/result.txt
cat ~/result.txt`,
      output: "1\n2\n3",
    },
    {
      wish: "Read a file without a copy",
      commands: "agent-sandbox cp work:/root/index.html -",
      output: "Hello from work",
    },
    {
      wish: "Start a server in the background",
      commands: `agent-sandbox exec work -- sh -c 'cd /root; nohup python3 -m http.server 8000 >/tmp/log 2>&1 &'`,
      output: "",
    },
    {
      wish: "Reach the server from a program",
      commands: `curl -s --retry 20 --retry-all-errors --retry-delay 1 -H "Authorization: Bearer $(agent-sandbox token)" \\
  http://127.0.0.1:7680/sandboxes/default/work/8000/`,
      output: "Hello from work",
    },
    {
      wish: "Open it in the browser",
      commands: "agent-sandbox open work --print",
      output: "http://8000-work.default.localhost:7680/.agent-sandbox/login?code=…",
    },
    {
      wish: "Have the port on this machine, for tools that cannot send a token",
      commands: `agent-sandbox port-forward work 9000:8000 &
curl -s --retry 20 --retry-all-errors --retry-delay 1 http://127.0.0.1:9000/
kill %1`,
      output: "Forwarding from 127.0.0.1:9000 -> 8000\nHello from work",
    },
    {
      wish: "Use a shell in a script, where there is no terminal",
      commands: "agent-sandbox exec -it work -- sh -c 'echo $0'",
      output: "Unable to use a TTY - input is not a terminal\nsh",
    },
  ],
};
