import { describe, expect, test } from "vitest";
import { memberNamed } from "../extensions.test.support.ts";
import { asFreeMember, type FreeMember } from "./free-members.ts";
import { MemberLine } from "./member-line.ts";

const sandbox = memberNamed("any");
function member(name: string, node = ""): FreeMember {
  const free = asFreeMember(sandbox);
  if (free === undefined) throw new Error("the fixture is no free member");
  return { ...free, key: `default/${name}`, node };
}

function lineOf(...members: FreeMember[]): MemberLine {
  const line = new MemberLine();
  for (const each of members) line.add(each);
  return line;
}

/** Everything in line, in the order it would be handed out. */
function drain(line: MemberLine): string[] {
  const names: string[] = [];
  for (let next = line.first(() => true); next !== undefined; next = line.first(() => true)) {
    names.push(next.key.slice("default/".length));
    line.remove(next);
  }
  return names;
}

describe("MemberLine", () => {
  test.for([
    ["members in order when no node is known", [member("a"), member("b"), member("c")], ["a", "b", "c"]],
    ["members of the fullest node first", [member("a", "1"), member("b", "2"), member("c", "2")], ["b", "a", "c"]],
    [
      "members of the oldest member's node when two nodes are equally full",
      [member("a", "1"), member("b", "2")],
      ["a", "b"],
    ],
    ["members without node last", [member("a"), member("b", "1")], ["b", "a"]],
  ] as const)("returns %s (CLAIM-8)", ([, members, expected]) => {
    expect(drain(lineOf(...members))).toEqual(expected);
  });

  test("keeps the position of a member that is added again, and tolerates a second removal", () => {
    const line = lineOf(member("a"), member("b"), member("a"));
    expect(line.size).toBe(2);
    line.remove(member("b"));
    line.remove(member("b"));
    expect([line.size, drain(line)]).toEqual([1, ["a"]]);
  });

  test("skips members that are refused and keeps them in the queue (COST-9)", () => {
    const line = lineOf(member("a"), member("b"));
    expect(line.first(({ key }) => key.endsWith("b"))?.key).toBe("default/b");
    expect([line.first(() => false), line.size]).toEqual([undefined, 2]);
  });

  test("asks about each of thousands of members once (COST-9)", () => {
    const members = Array.from({ length: 50_000 }, (_, n) => member(`m${n}`, `node-${n % 3}`));
    const line = lineOf(...members);
    let looks = 0;
    const refuse = (): boolean => {
      looks += 1;
      return false;
    };
    expect([line.first(refuse), looks]).toEqual([undefined, 50_000]);
  });

  test("asks about one member when the first is accepted (COST-9)", () => {
    const line = lineOf(...Array.from({ length: 10_000 }, (_, n) => member(`m${n}`, `node-${n % 3}`)));
    let looks = 0;
    line.first(() => {
      looks += 1;
      return true;
    });
    expect(looks).toBe(1);
  });
});
