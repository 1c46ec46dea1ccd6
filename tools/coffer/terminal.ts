/** The user's terminal, also when stdin and stdout are redirected: questions, and passphrases that are not shown. */

import { closeSync, openSync, writeSync } from 'node:fs'
import { EXIT, Failure } from './failure.ts'

const INPUT_CHARACTERS_MAX = 1024
const INTERRUPT = '\u0003'
const END = '\u0004'
const BACKSPACE = ['\u0008', '\u007f']

/** Null where there is no terminal. */
export function ask(question: string, { isHidden = false } = {}): Promise<string> | null {
  let descriptor: number
  try {
    descriptor = openSync('/dev/tty', 'r+')
  } catch {
    return null
  }
  return readLine(descriptor, question, isHidden)
}

/** False also where nobody can answer. */
export async function confirm(question: string): Promise<boolean> {
  const answer = await ask(`${question} [yes/no] `)
  return answer !== null && /^y(es)?$/i.test(answer.trim())
}

async function readLine(descriptor: number, question: string, isHidden: boolean): Promise<string> {
  const { ReadStream } = await import('node:tty')
  const input = new ReadStream(descriptor)
  if (isHidden) input.setRawMode(true) // before the question: what is typed at once is not shown either
  writeSync(2, question)
  let interrupt = () => {}
  try {
    return await new Promise((done, fail) => {
      let line = ''
      interrupt = () => fail(new Failure(EXIT.refused, 'not answered'))
      process.once('SIGINT', interrupt) // a terminal that is not raw makes a signal of Ctrl-C
      input.setEncoding('utf8')
      input.on('data', (text: string) => {
        for (const character of text) {
          if (character === '\r' || character === '\n') return done(line)
          if (character === INTERRUPT || (character === END && line === ''))
            return fail(new Failure(EXIT.refused, 'not answered'))
          if (isHidden && BACKSPACE.includes(character)) line = [...line].slice(0, -1).join('')
          else if (line.length < INPUT_CHARACTERS_MAX) line += character
        }
      })
      input.on('end', () => fail(new Failure(EXIT.refused, 'not answered')))
      input.on('error', fail)
    })
  } finally {
    process.off('SIGINT', interrupt)
    if (isHidden) {
      input.setRawMode(false)
      writeSync(2, '\n')
    }
    input.destroy()
    try {
      closeSync(descriptor)
    } catch {
      // the stream has closed it
    }
  }
}
