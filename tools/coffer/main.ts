/** The command `coffer`: administers and uses an appliance from anybody's computer, over the API that every client has. */

import { writeSync } from 'node:fs'
import manifest from '../../package.json' with { type: 'json' }
import type { OptionValues } from './command.ts'
import { createContext } from './context.ts'
import { EXIT, explain } from './failure.ts'
import { firstDay, listing, page } from './help.ts'
import { writeAll } from './output.ts'
import { parse } from './parse.ts'
import { COMMANDS } from './table.ts'

const INTERRUPTED = 130 // 128 + SIGINT, as shells have it

process.exitCode = await main(process.argv.slice(2))

async function main(line: string[]): Promise<number> {
  const interruption = new AbortController()
  let words = ''
  try {
    const { command, input } = parse(COMMANDS, line)
    if (command === null) return general(input)
    // What somebody gave where no name belongs may be a passphrase, and is not repeated.
    const isNamed = input.arguments[0] !== undefined && /^\[?[A-Z]/.test(command.arguments ?? '')
    words = `${command.words}${isNamed ? ` ${input.arguments[0]}` : ''}: `
    if (input.flag('help')) return print(page(command))
    process.once('SIGINT', () => interruption.abort())
    process.once('SIGTERM', () => interruption.abort())
    await command.run(createContext(command, input, interruption.signal), input)
    process.exit(process.exitCode ?? EXIT.done) // connections that are kept would hold it
  } catch (error) {
    if (interruption.signal.aborted) {
      writeSync(2, 'coffer: interrupted\n')
      process.exit(INTERRUPTED)
    }
    const { message, hint, exit } = explain(error)
    writeSync(2, `coffer: ${words}${message}\n${hint === null ? '' : `  ${hint}\n`}`)
    if (line.includes('--debug')) writeSync(2, `${(error as Error).stack}\n`)
    process.exit(exit)
  }
}

function general(input: OptionValues): number {
  if (input.flag('version')) return print(`coffer ${manifest.version}\n`)
  return print(input.flag('help') ? listing(COMMANDS) : firstDay(COMMANDS))
}

function print(text: string): number {
  writeAll(1, Buffer.from(text))
  return EXIT.done
}
