// Runs the session of the README's picture on a box of its own, and draws what was printed. `make picture`
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pictureFile, session } from "../../scripts/docs/first-session.ts";
import { terminalPicture } from "../../scripts/docs/terminal-picture.ts";
import { buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { runSteps } from "./run-page.ts";

const reason = whyNoBox();
if (reason !== undefined) throw new Error(`Cannot make the picture: the box ${reason}`);
buildCommandLine();
const steps = session.map((command) => ({
  block: { language: "sh", text: `${command}\n`, line: 0 },
  commands: `${command}\n`,
}));
const { outputs, ended, messages } = await runSteps(steps);
if (ended < steps.length)
  throw new Error(`Cannot make the picture: "${session[ended]}" failed: ${outputs[ended]}${messages}`);
mkdirSync(dirname(pictureFile), { recursive: true });
const commands = session.map((command, index) => ({ command, output: outputs[index] ?? "" }));
writeFileSync(pictureFile, terminalPicture("a box on one Linux machine", commands));
