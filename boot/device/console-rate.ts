/**
 * The log at the rate of a serial line. 115200 baud carry some hundred lines a second, a busy appliance writes thousands;
 * whoever waits for the line then waits for the console. The whole log goes to the syslog server (contract 7.6).
 */

import type { Platform } from '../platform.ts'

const LINES_PER_SECOND = 50 // less than half of what the line carries
const BURST_LINES = 50
const NOTICE_MS = 1000

type Print = (text: string) => void

/** Prints what the rate allows, and says how many lines it has left out as soon as it can. */
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

/** Leaves access lines out while the terminal asks for the passphrase, since they would push the prompt's heading off the screen. */
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
