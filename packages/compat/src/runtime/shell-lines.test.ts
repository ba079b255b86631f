import { expect, test } from "vitest";
import { withShellLines } from "./shell-lines.ts";

const call = (text: string): string => `__import__("subprocess").run(${text}, shell=True, check=False) and None`;

test.for([
  ["x = 1\n!echo 'a' \"$B\"\ny", `x = 1\n${call('"echo \'a\' \\"$B\\""')}\ny`],
  ["if x:\n    !pip install é\n", `if x:\n    ${call('"pip install \\u00e9"')}\n`],
  ["%pip install pandas", call('"pip install pandas"')],
  ["x = '''\n!no\n'''\n!yes", `x = '''\n!no\n'''\n${call('"yes"')}`],
  ["f(\n!no\n)\n!yes", `f(\n!no\n)\n${call('"yes"')}`],
  ["x = 1 # it's\n!yes", `x = 1 # it's\n${call('"yes"')}`],
  ['x = "\\"" + \'"""\'\n!yes', `x = "\\"" + '"""'\n${call('"yes"')}`],
  ["x = 1 \\\n!= 2", "x = 1 \\\n!= 2"],
  ["a %b", "a %b"],
  ["%timeit 1", "%timeit 1"],
  ["x = 1", "x = 1"],
] as const)("the code %j", ([code, expected]) => expect(withShellLines(code)).toBe(expected));
