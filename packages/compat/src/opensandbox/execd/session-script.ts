/**
 * A script that continues a session. Each run is a process of its own, so that a run can be ended without the session. The state of the
 * shell is in two files of the session's folder: the working directory, and variables and functions. It is written when the script ends,
 * by `exit` too. `$1` is the command, `$2` another working directory.
 */
export function sessionScript(folder: string, shell: "bash" | "sh"): string {
  const state = shell === "bash" ? "declare -p; declare -f; shopt -p; alias -p" : "export -p";
  return `
if [ -r ${folder}/state ]; then . ${folder}/state; fi 2>/dev/null
cd -- "\${2:-$(cat ${folder}/cwd)}" || exit 1
trap '{ ${state}; } > ${folder}/state.new 2>/dev/null; mv ${folder}/state.new ${folder}/state; pwd -P > ${folder}/cwd' EXIT
__command=$1
shift "$#"
eval "unset -v __command
$__command"`;
}
