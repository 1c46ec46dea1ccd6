/** The command `coffer` for a package: the program, its manual page and completions, where Debian's man and shells look for them. */

import { constants, gzipSync } from 'node:zlib'
import { completion } from '../../tools/coffer/completion.ts'
import { manual } from '../../tools/coffer/help.ts'
import { COMMANDS } from '../../tools/coffer/table.ts'
import { COFFER } from '../root.ts'
import { bytesOf, fileOf, type Tree } from '../tree.ts'
import { PLACE } from './program.ts'

const STARTER = `#!/bin/sh
exec /${PLACE}/node /${PLACE}/coffer.mjs "$@"
`

/** `bundle` is the directory that tools/build.ts wrote. */
export function makeCommand(bundle: string, version: string): Tree {
  const text = (content: string, executable = false) => bytesOf(Buffer.from(content), COFFER, executable)
  const page = gzipSync(manual(COMMANDS, version), { level: constants.Z_BEST_COMPRESSION })
  return new Map([
    [`${PLACE}/coffer.mjs`, fileOf(`${bundle}/coffer.mjs`, COFFER)],
    ['usr/bin/coffer', text(STARTER, true)],
    ['usr/share/man/man1/coffer.1.gz', bytesOf(page, COFFER)],
    ['usr/share/bash-completion/completions/coffer', text(completion(COMMANDS, 'bash'))],
    ['usr/share/zsh/vendor-completions/_coffer', text(completion(COMMANDS, 'zsh'))],
    ['usr/share/fish/vendor_completions.d/coffer.fish', text(completion(COMMANDS, 'fish'))],
  ])
}
