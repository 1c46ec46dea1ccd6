/** Files that the CLI writes. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const FILES = new URL('../../tools/coffer/files.ts', import.meta.url).href

test('a file for which there is no room is not there, not even a part of it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-files-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const program = `
    import { writeWhole } from ${JSON.stringify(FILES)}
    await writeWhole(${JSON.stringify(join(directory, 'backup'))}, [new Uint8Array(1_000_000)], new AbortController().signal)`
  // As on a disk that fills up, the system takes a part of the bytes and says how many: at most 200 blocks.
  const limited = 'ulimit -f 200; exec "$0" --input-type=module -e "$1"'
  const error = await new Promise((done) => execFile('sh', ['-c', limited, process.execPath, program], done))
  assert.match(`${error}`, /EFBIG/)
  assert.deepEqual(readdirSync(directory), [])
})
