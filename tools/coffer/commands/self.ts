/** The command about itself: help, completion, manual page. */

import manifest from '../../../package.json' with { type: 'json' }
import type { Command } from '../command.ts'
import { completion, SHELLS, type Shell } from '../completion.ts'
import { usage } from '../failure.ts'
import { listing, manual, page } from '../help.ts'
import { find } from '../parse.ts'

export const selfCommands = (all: () => readonly Command[]): Command[] => [
  {
    words: 'help',
    arguments: '[COMMAND]...',
    summary: 'Show all commands, or one of them.',
    example: 'coffer help key generate',
    run: async ({ output }, { arguments: words }) => {
      if (words.length === 0) return output.raw(Buffer.from(listing(all())))
      const command = find(all(), words)
      if (command === null) throw usage(`there is no command ${words.join(' ')}`)
      output.raw(Buffer.from(page(command)))
    },
  },
  {
    words: 'completion',
    arguments: 'SHELL',
    summary: `Print the completion script for a shell: ${SHELLS.join(', ')}.`,
    example: 'coffer completion bash',
    run: async ({ output }, { arguments: [shell] }) => {
      if (!SHELLS.includes(shell as Shell)) throw usage(`${shell} is none of ${SHELLS.join(', ')}`)
      output.raw(Buffer.from(completion(all(), shell as Shell)))
    },
  },
  {
    words: 'manual',
    summary: 'Print the manual page: coffer manual | man -l -',
    example: 'coffer manual',
    run: async ({ output }) => output.raw(Buffer.from(manual(all(), manifest.version))),
  },
]
