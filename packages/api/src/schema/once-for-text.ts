/** Reasons, times and addresses come again within a moment. */
const mostTexts = 64;
const longestText = 64;

/** A pure function that need not be asked again about a short text that it was asked about lately. */
export function onceForText<A, T>(decide: (value: A) => T): (value: A) => T {
  const answers = new Map<string, T>();
  return (value) => {
    if (typeof value !== "string" || value.length > longestText) return decide(value);
    const known = answers.get(value);
    if (known !== undefined) return known;
    const answer = decide(value);
    if (answers.size >= mostTexts) answers.clear();
    answers.set(value, answer);
    return answer;
  };
}
