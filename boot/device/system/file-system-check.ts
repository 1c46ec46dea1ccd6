/** Runs e2fsck(8) on the data partition before each mount. */

import { runProgram } from './programs.ts'

const NOT_REPAIRED = 4 // e2fsck(8): with a lower status, all errors are repaired
/** Output of e2fsck after a power cut of an intact ext4. Any other line reports an error. */
const REPLAY = /: recovering journal$/
const AFTER_REPLAY = [
  REPLAY,
  /: Clearing orphaned inode \d+ /, // a file that was deleted while open
  /: [*]+ FILE SYSTEM WAS MODIFIED [*]+$/,
  /: \d+\/\d+ files \([\d.]+% non-contiguous\), \d+\/\d+ blocks$/,
]

/** Repairs the file system on `path`. Resolves with the reason why it cannot be mounted, or null. */
export async function checkFileSystem(path: string, say: (text: string) => void): Promise<string | null> {
  for (const how of ['-p', '-y']) {
    const { status, output } = await runProgram('/usr/sbin/e2fsck', ['-f', how, path])
    const lines = output
      .trim()
      .split('\n')
      .filter((line) => line !== '')
    // -p silently repairs data that the journal does not cover: the totals of free blocks and inodes. The status is then 1.
    if (status !== null && status < NOT_REPAIRED && how === '-p' && isReplay(lines)) {
      say('The journal was replayed.')
      return null
    }
    if (status === 0) return null
    for (const line of lines) say(`e2fsck: ${line}`)
    if (status === null || status >= NOT_REPAIRED) continue
    say('The data partition had errors, which have been repaired.')
    return null
  }
  return 'the file system of the data partition cannot be mended'
}

const isReplay = (lines: string[]): boolean =>
  lines.some((line) => REPLAY.test(line)) && lines.every((line) => AFTER_REPLAY.some((form) => form.test(line)))
