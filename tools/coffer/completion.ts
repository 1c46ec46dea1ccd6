/** Completion for bash, zsh and fish, from the table: a function of each shell that knows what may come after the words before. */

import { COMMON, type Command, LEADING, type Option } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export const completion = (commands: readonly Command[], shell: Shell): string => MAKERS[shell](commands)

const MAKERS: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: (commands) => `${posixFunction(commands)}
_coffer() {
  COMPREPLY=($(compgen -W "$(_coffer_next "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _coffer coffer
`,
  zsh: (commands) => `#compdef coffer
${posixFunction(commands)}
_coffer() {
  local -a choices
  choices=(\${=$(_coffer_next "\${(@)words[2,CURRENT-1]}")})
  case "$words[CURRENT]" in
  -*) ;;
  *) choices=(\${choices:#-*}) ;;
  esac
  if (( $#choices )); then compadd -a choices; else _files; fi
}
# Sourced, or autoloaded as _coffer from fpath, where the first call defines the functions.
if [ "$funcstack[1]" = _coffer ]; then _coffer "$@"; else compdef _coffer coffer; fi
`,
  fish: (commands) => `function __coffer_next
  set -l line
  set -l previous
  for part in (commandline -opc)[2..]
    if test -n "$previous"
      set previous
      continue
    end
    switch $part
      case ${withValue(commands).join(' ')}
        set previous $part
      case '-*'
      case '*'
        set -a line $part
    end
  end
  if test -n "$previous"
    switch "$line $previous"
${choicesOf(commands)
  .map(
    ({ words, name, choices }) =>
      `      case ${quoted(`${words} ${name}`)} ${quoted(`${words} * ${name}`)}\n        printf '%s\\n' ${choices.map(quoted).join(' ')}`,
  )
  .join('\n')}
      case '*'
        __fish_complete_path (commandline -ct)
    end
    return
  end
  switch "$line"
${[...nextWords(commands)]
  .map(
    ([before, words]) =>
      `    case ${quoted(before)}\n${[...words].map(([word, summary]) => `      printf '%s\\t%s\\n' ${word} ${quoted(summary)}`).join('\n')}`,
  )
  .join('\n')}
    case '*'
      __fish_complete_path (commandline -ct)
  end
  switch "$line"
${longestFirst(commands)
  .map(
    ({ words, options = {} }) =>
      `    case ${quoted(words)} ${quoted(`${words} *`)}\n${described(options).join('\n') || '      true'}`,
  )
  .join('\n')}
  end
${described(COMMON)
  .map((line) => line.slice(4))
  .join('\n')}
end
complete -c coffer -f -a '(__coffer_next)'
`,
}

/** `_coffer_next "key" "gen"` prints what may come next: values of an option, words of commands, and options. For bash and zsh. */
function posixFunction(commands: readonly Command[]): string {
  const common = Object.keys(COMMON).map((name) => `--${name}`)
  return `_coffer_next() {
  local line='' previous='' part
  for part in "$@"; do
    if [ -n "$previous" ]; then previous=''; continue; fi
    case "$part" in
    ${withValue(commands).join('|')}) previous="$part" ;;
    -*) ;;
    *) line="\${line:+$line }$part" ;;
    esac
  done
  if [ -n "$previous" ]; then
    case "$line $previous" in
${choicesOf(commands)
  .map(({ words, name, choices }) => `    '${words} ${name}'|'${words} '*' ${name}') echo ${choices.join(' ')} ;;`)
  .join('\n')}
    esac
    return
  fi
  case "$line" in
${[...nextWords(commands)].map(([before, words]) => `  '${before}') echo ${[...words.keys()].join(' ')} ;;`).join('\n')}
  esac
  case "$line" in
${longestFirst(commands)
  .map(
    ({ words, options = {} }) =>
      `  '${words}'|'${words} '*) echo ${[...Object.keys(options).map((name) => `--${name}`), ...common].join(' ')} ;;`,
  )
  .join('\n')}
  *) echo ${common.join(' ')} ;;
  esac
}`
}

function nextWords(commands: readonly Command[]): Map<string, Map<string, string>> {
  const next = new Map<string, Map<string, string>>()
  for (const { words, summary } of commands) {
    const parts = words.split(' ')
    parts.forEach((part, at) => {
      const before = parts.slice(0, at).join(' ')
      const known = next.get(before) ?? new Map<string, string>()
      next.set(before, known.set(part, at === parts.length - 1 ? summary : (known.get(part) ?? '')))
    })
  }
  return next
}

function withValue(commands: readonly Command[]): string[] {
  const all = [LEADING, ...commands.map(({ options = {} }) => options)].flatMap((options) => Object.entries(options))
  return [...new Set(all.filter(([, { value }]) => value !== undefined).flatMap(namesOf))]
}

function choicesOf(commands: readonly Command[]) {
  return longestFirst(commands).flatMap(({ words, options = {} }) =>
    Object.entries(options).flatMap(([name, option]) =>
      namesOf([name, option]).flatMap((name) =>
        option.choices === undefined ? [] : [{ words, name, choices: option.choices }],
      ),
    ),
  )
}

const namesOf = ([name, { short }]: [string, Option]): string[] => [`--${name}`, ...(short ? [`-${short}`] : [])]

/** "backup create" before "backup". */
const longestFirst = (commands: readonly Command[]): Command[] =>
  [...commands].sort((a, b) => b.words.split(' ').length - a.words.split(' ').length)

const described = (options: Readonly<Record<string, Option>>): string[] =>
  Object.entries(options).map(([name, { summary }]) => `      printf '%s\\t%s\\n' --${name} ${quoted(summary)}`)

/** For fish. */
const quoted = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`
