/** The results of a suite in another language. */
export interface InnerResults {
  readonly passed: readonly string[];
  readonly failed: readonly InnerTest[];
  readonly skipped: readonly InnerTest[];
}

export interface InnerTest {
  readonly name: string;
  /** The output of the test. */
  readonly text: string;
}

interface Event {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
}

type Verdict = "pass" | "fail" | "skip";
/** Lines that Go adds around the output of a test. The events contain the same information. */
const framing = /^ *(===|---) .*\n/gm;
const isVerdict = (action: string): action is Verdict => ["pass", "fail", "skip"].includes(action);

/**
 * Reads the events of `go test -json`, one in each line; our Python suite writes the same format. Of a test with subtests, only the
 * subtests count, unless it failed by itself. A package that fails without a failing test, for example because it did not
 * compile, counts as one failure.
 */
export function readInnerResults(text: string): InnerResults {
  const verdicts = new Map<string, Verdict>();
  const printed = new Map<string, string>();
  const packages: string[] = [];
  for (const event of text.split("\n").flatMap(parse)) {
    const name = event.Test ?? "";
    if (event.Output !== undefined) printed.set(name, (printed.get(name) ?? "") + event.Output);
    if (event.Test !== undefined && isVerdict(event.Action)) verdicts.set(name, event.Action);
    if (event.Test === undefined && event.Action === "fail") packages.push(event.Package ?? "the suite");
  }
  const names = [...verdicts.keys()];
  const inside = (name: string): string[] => names.filter((other) => other.startsWith(`${name}/`));
  const of = (verdict: Verdict): InnerTest[] =>
    names
      .filter((name) => verdicts.get(name) === verdict)
      .filter((name) => !inside(name).some((other) => verdict !== "fail" || verdicts.get(other) === "fail"))
      .map((name) => ({ name, text: (printed.get(name) ?? "").replaceAll(framing, "") }));
  const failed = of("fail");
  if (failed.length === 0) failed.push(...packages.map((name) => ({ name, text: printed.get("") ?? "" })));
  return { passed: of("pass").map(({ name }) => name), failed, skipped: of("skip") };
}

/** Lines that are not events are output that bypassed the test runner. */
function parse(line: string): Event[] {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null && "Action" in event ? [event as Event] : [];
  } catch {
    return [];
  }
}
