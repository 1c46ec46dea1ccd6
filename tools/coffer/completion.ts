/** Completion for bash, zsh and fish, from the table: each shell asks its words of a function that knows them all. */

import { COMMON, type Command } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const completion = (commands: readonly Command[], shell: Shell): string => MAKERS[shell](commands)

const MAKERS: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: (commands) => `${shellFunction(commands)}
_coffer() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=() part
  for part in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do case "$part" in -*) ;; *) words+=("$part") ;; esac; done
  local choices; choices="$(_coffer_words "\${words[*]}" "$word")"
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}
complete -o default -F _coffer coffer
`,
  zsh: (commands) => `#compdef coffer
${shellFunction(commands)}
_coffer() {
  local -a line choices
  line=(\${\${words[2,CURRENT-1]}:#-*})
  choices=(\${=$(_coffer_words "\${line[*]}" "\${words[CURRENT]}")})
  compadd -a choices || _files
}
compdef _coffer coffer
`,
  fish: (commands) =>
    `complete -c coffer -f\n${commands
      .flatMap(({ words, summary, options = {} }) => {
        const parts = words.split(' ')
        const seen = parts.slice(0, -1).map((part) => `__fish_seen_subcommand_from ${part}`)
        const condition = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ')
        const used = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ')
        return [
          ...(parts.length > 1 ? [`complete -c coffer -n __fish_use_subcommand -a ${parts[0]}`] : []),
          `complete -c coffer -n '${condition}' -a ${parts.at(-1)} -d ${quoted(summary)}`,
          ...Object.entries(options).map(
            ([name, { short, value, choices, summary }]) =>
              `complete -c coffer -n '${used}' -l ${name}${short ? ` -s ${short}` : ''}${value ? ' -r' : ''}${
                choices ? ` -a ${quoted(choices.join(' '))}` : ''
              } -d ${quoted(summary)}`,
          ),
        ]
      })
      .join('\n')}\n${Object.entries(COMMON)
      .map(([name, { value, summary }]) => `complete -c coffer -l ${name}${value ? ' -r' : ''} -d ${quoted(summary)}`)
      .join('\n')}\n`,
}

/** `_coffer_words "key" "gen"` prints what may come next: words of commands, or with a dash the options. */
function shellFunction(commands: readonly Command[]): string {
  const next = new Map<string, Set<string>>()
  for (const { words } of commands) {
    const parts = words.split(' ')
    parts.forEach((part, at) => {
      const before = parts.slice(0, at).join(' ')
      next.set(before, (next.get(before) ?? new Set()).add(part))
    })
  }
  const common = Object.keys(COMMON).map((name) => `--${name}`)
  const options = commands.map(
    ({ words, options = {} }) =>
      `    '${words}'|'${words} '*) echo ${[...Object.keys(options).map((name) => `--${name}`), ...common].join(' ')} ;;`,
  )
  // The longer words first: "backup create" before "backup".
  options.sort((a, b) => b.split("'")[1]!.split(' ').length - a.split("'")[1]!.split(' ').length)
  return `_coffer_words() {
  case "$2" in
  -*) case "$1" in
${options.join('\n')}
    *) echo ${common.join(' ')} ;;
    esac ;;
  *) case "$1" in
${[...next].map(([before, words]) => `    '${before}') echo ${[...words].join(' ')} ;;`).join('\n')}
    esac ;;
  esac
}`
}

const quoted = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`
