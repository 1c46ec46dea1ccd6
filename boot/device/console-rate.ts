/**
 * Limits the log to the rate of a serial line. 115200 baud carry about a hundred lines a second, and a busy appliance writes
 * thousands. Without a limit, the writer would wait for the line. The syslog server receives the complete log (contract section
 * 7.6).
 */

import type { Platform } from '../platform.ts'

const LINES_PER_SECOND = 50 // less than half of the line's capacity
const BURST_LINES = 50
const NOTICE_MS = 1000

type Print = (text: string) => void

/** Prints lines within the rate, and reports the number of omitted lines as soon as possible. */
export function limitLines(print: Print, now: () => number = () => performance.now()): (lines: string[]) => void {
  let credit = BURST_LINES
  let creditAtMs = now()
  let leftOut = 0

  const report = () => {
    print(leftOut === 1 ? '1 line of the log is not shown here.' : `${leftOut} lines of the log are not shown here.`)
    leftOut = 0
  }
  const printInTime = (line: string) => {
    const atMs = now()
    credit = Math.min(BURST_LINES, credit + ((atMs - creditAtMs) * LINES_PER_SECOND) / 1000)
    creditAtMs = atMs
    if (credit < 1) {
      if (leftOut === 0) setTimeout(report, NOTICE_MS).unref()
      leftOut++
    } else {
      credit--
      print(line)
    }
  }
  return (lines) => lines.forEach(printInTime)
}

const ACCESS = /^(?:debug|info) +access: /

/** Omits access lines while the terminal asks for the passphrase: they would push the prompt's heading off the screen. */
export function keepPrompt(
  { isAsking, print }: Parameters<Platform['logTo']>[0],
  write: (lines: string[]) => void,
): (lines: string[]) => void {
  let leftOut = 0
  return (lines) => {
    if (isAsking()) {
      const shown = lines.filter((line) => !ACCESS.test(line))
      leftOut += lines.length - shown.length
      if (shown.length > 0) write(shown)
      return
    }
    if (leftOut > 0) print(`Lines of the access log that were left out during the prompt: ${leftOut}`)
    leftOut = 0
    write(lines)
  }
}
