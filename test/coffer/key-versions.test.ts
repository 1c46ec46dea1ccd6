/** Versions of keys by the command: shown, added, retired and deleted. Contract section 7.11. */

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type Appliance, startProvisioned } from '../support/suite.ts'
import { createRig, type Rig } from './rig.ts'

let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
})
after(async () => {
  rig.dispose()
  await appliance.dispose()
})

async function shell(line: string): Promise<string> {
  const { code, stdout, stderr } = await rig.shell(line)
  assert.equal(code, 0, `${line}: ${stderr}${stdout}`)
  return stdout
}

async function refused(line: string, reason: RegExp): Promise<void> {
  const { code, stderr } = await rig.shell(line)
  assert.notEqual(code, 0, line)
  assert.match(stderr, reason)
}

/** Number and use of each version. */
const usesOf = async (): Promise<string[]> =>
  (await shell('coffer key versions web-key'))
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/\s+\S+Z\s+/, ' ').trim())

test('versions are added, retired, allowed again and deleted', async () => {
  await shell('coffer key generate web-key --for tls')
  assert.deepEqual(await usesOf(), ['1 newest'])
  for (const version of ['2\n', '3\n']) assert.equal(await shell('coffer key rotate web-key'), version)
  assert.deepEqual(await usesOf(), ['1 all', '2 all', '3 newest'])
  await shell('coffer key retire web-key 1 --keep-opening')
  assert.deepEqual(await usesOf(), ['1 decrypt, verify', '2 all', '3 newest'])
  await shell('coffer key retire web-key 2')
  assert.deepEqual(await usesOf(), ['1 retired', '2 retired', '3 newest'])
  await shell('coffer key retire web-key 0')
  assert.deepEqual(await usesOf(), ['1 all', '2 all', '3 newest'])
  await refused('coffer key retire web-key 3', /latest key version is 3/)
  await refused('coffer key retire web-key two', /VERSION must be a number/)
  await refused('coffer key retire web-key 1 --delete --keep-opening', /exclude each other/)
  await refused('coffer key retire web-key 1 --delete', /./) // nobody confirms it
  assert.deepEqual(await usesOf(), ['1 all', '2 all', '3 newest'])
  await shell('coffer key retire web-key 1 --delete --force')
  assert.deepEqual(await usesOf(), ['2 all', '3 newest'])
  const { latest, minAvailable } = JSON.parse(await shell('coffer key versions web-key --json'))
  assert.deepEqual([latest, minAvailable], [3, 2])
  await refused('coffer key show web-key', /No such key/)
})

/** The three limits: decryption, encryption, availability. */
async function limitsOf(id: string): Promise<number[]> {
  const { minDecryption, minEncryption, minAvailable } = JSON.parse(await shell(`coffer key versions ${id} --json`))
  return [minDecryption, minEncryption, minAvailable]
}

test('retiring versions allows none again, but 0 does, also of a key whose oldest versions were deleted', async () => {
  await shell('coffer key generate old-key --for tls')
  for (let n = 0; n < 5; n++) await shell('coffer key rotate old-key')
  for (const [line, limits] of [
    ['2', [3, 3, 0]],
    ['1', [3, 3, 0]],
    ['1 --keep-opening', [3, 3, 0]],
    ['3 --keep-opening', [3, 4, 0]],
    ['2', [3, 4, 0]],
    ['1 --delete --force', [3, 4, 2]],
    ['0 --keep-opening', [3, 3, 2]],
    ['4 --keep-opening', [3, 5, 2]],
    ['0', [2, 2, 2]],
    ['4 --keep-opening', [2, 5, 2]],
    ['1 --delete --force', [2, 5, 2]],
    ['2 --delete --force', [3, 5, 3]],
    ['0', [3, 3, 3]],
  ] as const) {
    await shell(`coffer key retire old-key ${line}`)
    assert.deepEqual(await limitsOf('old-key'), limits, line)
  }
})
