import { expect, test } from "vitest";
import { withSections } from "./result-sections.ts";

test("sections of benchmarks that ran are replaced or added, and the others stay", () => {
  const page = "# Results\n\nAbout.\n\n## api\n\nold\n\n## node\n\nkept\n";
  const changed = [
    ["cli", "## cli\n\nadded\n"],
    ["api", "## api\n\nnew\n"],
  ] as const;
  expect(withSections(page, changed)).toBe(
    "# Results\n\nAbout.\n\n## api\n\nnew\n\n## cli\n\nadded\n\n## node\n\nkept\n",
  );
  expect(withSections(page, [])).toBe(page);
});
