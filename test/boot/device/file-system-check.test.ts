/** The check of the data partition before each mount, by e2fsck itself on a file. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkFileSystem } from '../../../boot/device/system/file-system-check.ts'
import { needs } from '../../support/tools.ts'

const { skip } = needs('e2fsck')
const BYTES = 64 * 1024 * 1024

/** A file system on which debugfs(8), of the package of e2fsck, has run these commands. */
function makeFileSystem(t: TestContext, ...commands: string[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-check-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'data')
  const script = join(directory, 'script')
  writeFileSync(file, '')
  truncateSync(file, BYTES)
  writeFileSync(script, `${commands.join('\n')}\n`)
  execFileSync('/usr/sbin/mke2fs', ['-q', '-F', '-t', 'ext4', file])
  execFileSync('/usr/sbin/debugfs', ['-w', '-f', script, file], { stdio: 'ignore' })
  return file
}

async function check(file: string): Promise<{ problem: string | null; said: string[] }> {
  const said: string[] = []
  const problem = await checkFileSystem(file, (text) => said.push(text))
  return { problem, said }
}

/** A power cut leaves a journal to be replayed, and totals in the superblock that are out of date. */
const PULLED_PLUG = ['jo', 'jw -b 5000,5001 /etc/passwd', 'jc', 'ssv free_blocks_count 1']

test('after a pulled plug the journal is replayed, which is no error', { skip }, async (t) => {
  const file = makeFileSystem(t, ...PULLED_PLUG)
  assert.deepEqual(await check(file), { problem: null, said: ['The journal was replayed.'] })
  assert.deepEqual(await check(file), { problem: null, said: [] })
})

test('an error is named and repaired, also where the journal was replayed', { skip }, async (t) => {
  const { problem, said } = await check(makeFileSystem(t, 'sif <11> links_count 7', ...PULLED_PLUG))
  assert.equal(problem, null)
  assert.ok(
    said.some((line) => line.startsWith('e2fsck: ') && line.includes('Inode 11')),
    said.join('\n'),
  )
  assert.equal(said.at(-1), 'The data partition had errors, which have been repaired.')
})

test('a file system that cannot be repaired is not mounted', { skip }, async (t) => {
  const file = makeFileSystem(t)
  writeFileSync(file, Buffer.alloc(1024))
  const { problem } = await check(file)
  assert.equal(problem, 'the file system of the data partition cannot be mended')
})
