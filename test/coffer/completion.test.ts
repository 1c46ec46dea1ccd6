/** Completion in bash, zsh and fish as they are, in a terminal of tmux: the key is pressed, and the screen read. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Shell } from '../../tools/coffer/completion.ts'
import { COMMANDS } from '../../tools/coffer/table.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const POLL_MS = 50

let rig: Rig
before(async () => {
  rig = await createRig()
})
after(() => rig.dispose())

/** How each is started without anybody's settings, and reads the script. */
const STARTS: Readonly<Record<Shell, string>> = {
  bash: 'bash --norc --noprofile -i',
  zsh: 'zsh -f -i',
  fish: 'fish --no-config -i',
}
const READS: Readonly<Record<Shell, string>> = {
  bash: 'PS1="ready> "; . ./coffer.bash',
  zsh: 'PS1="ready> "; autoload -U compinit; compinit -u -D; . ./coffer.zsh',
  fish: 'function fish_prompt; echo "ready> "; end; set -g fish_autosuggestion_enabled 0; source coffer.fish',
}

const LINES = [
  ['coffer conn', 'coffer connect'],
  ['coffer key gen', 'coffer key generate'],
  ['coffer key certificate g', 'coffer key certificate get'],
  ['coffer --profile lab key gen', 'coffer --profile lab key generate'],
  ['coffer sign web-key --mo', 'coffer sign web-key --mode'],
  ['coffer key generate web-key --for deco', 'coffer key generate web-key --for deco'],
  ['coffer key generate web-key --for dec', 'coffer key generate web-key --for decrypt'],
  ['coffer ca sign --for em', 'coffer ca sign --for email'],
  ['coffer generate-k', 'coffer generate-key'],
  ['coffer sign web-key docu', 'coffer sign web-key document.txt'],
  ['coffer sign web-key --output docu', 'coffer sign web-key --output document.txt'],
] as const

/** As a package installs it. */
const FROM_FPATH = 'PS1="ready> "; cp coffer.zsh _coffer; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D'

for (const [shell, reads, how] of [
  ['bash', READS.bash, ''],
  ['zsh', READS.zsh, ''],
  ['zsh', FROM_FPATH, ' from its path'],
  ['fish', READS.fish, ''],
] as const) {
  const { skip } = needs('tmux', ...(shell === 'bash' ? [] : [shell]))
  test(`${shell}${how} completes words of commands, options, their values and files`, { skip }, async (t) => {
    const { stdout, code } = await rig.coffer('completion', shell)
    assert.equal(code, 0)
    writeFileSync(join(rig.directory, `coffer.${shell}`), stdout)
    writeFileSync(join(rig.directory, 'document.txt'), '')
    const place = mkdtempSync(join(tmpdir(), 'coffer-tmux-'))
    const env = { ...rig.environment, TERM: 'xterm-256color', LANG: 'C.UTF-8' }
    const tmux = (...line: string[]): string =>
      execFileSync('tmux', ['-S', join(place, 'socket'), '-f', '/dev/null', ...line], { encoding: 'utf8', env })
    tmux('new-session', '-d', '-c', rig.directory, '-x', '150', '-y', '40', STARTS[shell])
    t.after(() => {
      tmux('kill-server')
      rmSync(place, { recursive: true })
    })
    const screen = () => tmux('capture-pane', '-p')
    const shows = async (isShown: (lines: string[]) => boolean, what: string) => {
      const deadline = Date.now() + DEADLINE_MS
      while (!isShown(screen().trimEnd().split('\n'))) {
        assert.ok(Date.now() < deadline, `${what}:\n${screen()}`)
        await wait(POLL_MS)
      }
    }
    tmux('send-keys', '-l', `${reads}; clear; echo is read`)
    tmux('send-keys', 'Enter')
    await shows((lines) => lines.some((line) => line === 'is read') && /^ready>/.test(lines.at(-1)!), 'it starts')
    for (const [typed, completed] of LINES) {
      tmux('send-keys', '-l', typed)
      await shows((lines) => lines.some((line) => line.endsWith(typed)), `${typed} is there`)
      tmux('send-keys', 'Tab')
      // A letter that is typed afterwards comes where the cursor is: behind what was completed.
      tmux('send-keys', '-l', '@')
      await shows(
        (lines) => lines.some((line) => line.replace(/ ?@$/, '').endsWith(completed) && line.endsWith('@')),
        completed,
      )
      tmux('send-keys', 'C-u')
      tmux('send-keys', '-l', 'clear')
      tmux('send-keys', 'Enter')
      await shows((lines) => lines.length === 1 && /^ready>$/.test(lines[0]!.trim()), 'the next line')
    }
  })
}

test('every command is in the completions and the manual page', async () => {
  for (const line of ['completion bash', 'completion zsh', 'completion fish', 'manual']) {
    const { stdout } = await rig.shell(`coffer ${line}`)
    for (const { words } of COMMANDS)
      for (const word of words.split(' '))
        assert.ok(stdout.includes(line === 'manual' ? word.replaceAll('-', '\\-') : word), `${line}: ${words}`)
  }
})
