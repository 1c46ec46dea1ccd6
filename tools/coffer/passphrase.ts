/**
 * Where passphrases come from: a file, a descriptor, COFFER_PASSPHRASE, the program COFFER_ASKPASS, the terminal. Never from
 * arguments, which other users of the computer see.
 */

import { readFileSync } from 'node:fs'
import { EXIT, Failure, usage } from './failure.ts'
import { ask } from './terminal.ts'

export interface Sources {
  file?: string | undefined
  descriptor?: number | undefined
  /** COFFER_PASSPHRASE, which is of the account. */
  variable?: string | undefined
  /** COFFER_ASKPASS. */
  program?: string | undefined
}

/** Taken out of the environment, so that no child gets it. */
export function takeVariables(): Pick<Sources, 'variable' | 'program'> {
  const { COFFER_PASSPHRASE: variable, COFFER_ASKPASS: program } = process.env
  delete process.env.COFFER_PASSPHRASE
  return { variable: variable || undefined, program: program || undefined }
}

/** `what` says whose it is: "Passphrase of admin". A new one is typed twice on a terminal. */
export async function passphraseFrom(sources: Sources, what: string, isNew = false): Promise<string> {
  const { file, descriptor, variable, program } = sources
  if (file !== undefined) return firstLine(readFileSync(file, 'utf8'), what)
  if (descriptor !== undefined) return firstLine(readFileSync(descriptor, 'utf8'), what)
  if (variable !== undefined) return variable
  if (program !== undefined) return fromProgram(program, what)
  const typed = ask(`${what}: `, { isHidden: true })
  if (typed === null)
    throw usage(
      `${what}: nobody can be asked, there is no terminal`,
      isNew
        ? 'give a file to read it from, @FILE, or COFFER_ASKPASS'
        : '--passphrase-file, COFFER_PASSPHRASE or COFFER_ASKPASS',
    )
  const passphrase = await typed
  if (isNew && (await ask(`${what}, again: `, { isHidden: true })) !== passphrase)
    throw new Failure(EXIT.refused, 'the two are not the same: nothing was changed')
  return passphrase
}

/** `@FILE`. */
export function secretFile(name: string, value: string): string {
  if (value.startsWith('@') && value.length > 1) return value.slice(1)
  throw usage(
    `--${name}: a passphrase in the arguments is seen by every user of the computer`,
    `leave the option out to be asked, or write --${name} @FILE`,
  )
}

async function fromProgram(program: string, what: string): Promise<string> {
  const { spawn } = await import('node:child_process')
  const child = spawn(program, [what], { stdio: ['ignore', 'pipe', 'inherit'] })
  const text = await new Promise<string>((done, fail) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      output += piece
    })
    child.on('error', () => fail(usage(`COFFER_ASKPASS does not start: ${program}`)))
    child.on('close', (code) =>
      code === 0 ? done(output) : fail(new Failure(EXIT.refused, `COFFER_ASKPASS gave no passphrase: ${program}`)),
    )
  })
  return firstLine(text, what)
}

function firstLine(text: string, what: string): string {
  const [line = ''] = text.split(/\r?\n/, 1)
  if (line === '') throw usage(`${what}: the first line is empty`)
  return line
}
