/**
 * A command that counts in memory and performs a step for each number `$i`. It pauses with a builtin of bash: a new process for each
 * pause would keep a processor busy, and other tests waiting.
 */
export function counter(step = "echo $i", from = 0): string[] {
  return ["bash", "-c", `i=${from}; exec 3<> <(:); while :; do i=$((i+1)); ${step}; read -rt 0.02 -u 3; done`];
}
