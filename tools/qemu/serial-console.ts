/** The serial console of a machine: what it printed, waited for with a cursor, and typing no faster than a UART takes it. */

import { setTimeout as wait } from 'node:timers/promises'

export interface Console {
  /** Everything printed so far. Lines end in CR LF. */
  output(): string
  /** Waits for a match after the last one, and moves behind it. Rejects when time is over, at once when the machine ends. */
  see(pattern: RegExp): Promise<RegExpExecArray>
  /** End the text with `\r` to press Enter. */
  type(text: string): Promise<void>
}

/** For whatever a machine is to do: software emulation, on a computer that others use as well. */
export const PATIENCE_MS = 420_000

const KEY_MS = 5 // the emulated UART drops what comes faster than the guest reads
const TAIL_CHARACTERS = 4000 // of the output, in messages

interface Wires {
  received: AsyncIterable<string>
  send(text: string): void
}

/** The console lives as long as `received` goes on. */
export function createConsole({ received, send }: Wires): Console {
  let output = ''
  let cursor = 0
  let ended = false
  const changed = new Set<() => void>()
  const notify = () => {
    for (const listener of [...changed]) listener()
  }
  const listen = async () => {
    try {
      for await (const text of received) {
        output += text
        notify()
      }
    } finally {
      ended = true
      notify()
    }
  }
  listen().catch(() => {}) // a broken stream is an ended one

  const see = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer)
        changed.delete(check)
      }
      const fail = (why: string) => {
        stop()
        reject(new Error(`${why} ${pattern}; the console's end:\n${output.slice(-TAIL_CHARACTERS)}`))
      }
      const check = () => {
        const match = pattern.exec(output.slice(cursor))
        if (match) {
          stop()
          cursor += match.index + match[0].length
          resolve(match)
        } else if (ended) {
          fail('the machine ended before it printed')
        }
      }
      const timer = setTimeout(() => fail(`${PATIENCE_MS} ms without`), PATIENCE_MS)
      changed.add(check)
      check()
    })

  const type = async (text: string): Promise<void> => {
    for (const character of text) {
      send(character)
      await wait(KEY_MS)
    }
  }

  return { output: () => output, see, type }
}
