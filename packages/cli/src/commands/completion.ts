import type { Command } from "commander";
import { CommandError } from "../command-error.ts";

/**
 * Each script asks the hidden command `__complete` for candidates, one per line with a tab before its description. No space follows a candidate
 * that ends with a colon.
 */
const scripts = {
  // bash splits words at ":" and "=", so a candidate replaces only what follows them. Without candidates it completes files.
  bash: `_agent_sandbox() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _agent_sandbox agent-sandbox`,
  zsh: `#compdef agent-sandbox
_agent_sandbox() {
  local -a candidates parts
  local line text entry
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    text=\${line%%$'\\t'*}
    entry="\${text//:/\\\\:}:\${line#*$'\\t'}"
    if [[ $text == *: ]]; then parts+=("$entry"); elif [[ -n $text ]]; then candidates+=("$entry"); fi
  done
  if (( \${#parts} )); then _describe agent-sandbox parts -S ''; fi
  if (( \${#candidates} )); then _describe agent-sandbox candidates; fi
  if (( \${#parts} + \${#candidates} == 0 )); then _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _agent_sandbox agent-sandbox`,
  fish: `function __agent_sandbox_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete -- $words[2..] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c agent-sandbox -f -a '(__agent_sandbox_complete)'`,
} as const;

/** Prints a script that completes commands, options, names and values in a shell. */
export function completion(shell: string): void {
  if (!Object.hasOwn(scripts, shell))
    throw new CommandError(`Cannot complete for "${shell}": write ${Object.keys(scripts).join(", ")}`);
  console.log(scripts[shell as keyof typeof scripts]);
}

/** Prints what may stand at the end of a command line. Prints nothing if the server cannot be asked. */
export async function complete(words: readonly string[], program: Command): Promise<void> {
  const { candidatesFor } = await import("../client/candidates.ts");
  for (const { text, description } of await candidatesFor(program, words)) console.log(`${text}\t${description}`);
}
