/** The exit code of `killWords` if the command has not written its process id, for instance because it may not write to /tmp. */
export const noProcessIdCode = 3;

/** Arguments that write their process id to a file and then become the command. The command also runs if the file cannot be written. */
export function withProcessId(file: string, words: readonly string[]): readonly string[] {
  return ["sh", "-c", `{ echo $$ > ${file}; } 2>/dev/null; exec "$@"`, "sh", ...words];
}

/**
 * Arguments that send a signal to the command whose process id is in a file. The command may not have written it yet, so they wait for
 * the file, about five seconds by default.
 *
 * @param signal As in `TERM`.
 */
export function killWords(file: string, signal: string, attempts = 100): readonly string[] {
  // Some implementations of sleep read whole seconds only.
  const pause = "sleep 0.05 2>/dev/null || { sleep 1; n=$((n + 19)); }";
  const wait = `n=1; until [ -s ${file} ]; do [ $n -lt ${attempts} ] || exit ${noProcessIdCode}; n=$((n + 1)); ${pause}; done`;
  return ["sh", "-c", `${wait}; kill -s ${signal} "$(cat ${file})"`];
}
