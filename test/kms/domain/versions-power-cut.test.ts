// @test long 60
/** Power cuts while versions of keys change. Contract section 7.11. */

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClock } from '../../../firmware/base/clock.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { COLLECTION_NAMES } from '../../../firmware/kms/domain/collections.ts'
import { type Operational, openDomain } from '../../../firmware/kms/domain/operational.ts'
import { latestOf } from '../../../firmware/kms/domain/version-record.ts'
import { openStore } from '../../../firmware/store/sqlite/file.ts'
import { openVault } from '../../../firmware/store/vault.ts'
import { DEVICE_KEY } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, type DomainRig, ED25519 } from './rig.ts'
import { rotatedRig, sign, verify, versionsOf } from './versions-rig.ts'

const pool = await openPool()

const CUTS = 100
const SECTOR_BYTES = 512

test(`${CUTS} power cuts while versions are added, limited, moved and deleted leave all of a change or nothing`, async (t) => {
  const rig = await rotatedRig(t, pool)
  const { directory } = rig.storeRig
  const scratch = mkdtempSync(join(tmpdir(), 'coffer-cuts-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const act = changesOf(rig)
  let whole = 0
  for (let cut = 0, tries = 0; cut < CUTS; tries++) {
    assert.ok(tries < 2 * CUTS, 'the log is cut off all the time')
    const base = join(scratch, String(tries))
    const before = { files: filesOf(rig), state: stateOf(rig.domain) }
    cpSync(directory, base, { recursive: true })
    await act(tries)
    const after = { files: filesOf(rig), state: stateOf(rig.domain) }
    if (!after.files.database.equals(before.files.database)) continue // SQLite has moved its log into the database
    cut++
    writeFileSync(join(base, 'store.db-wal'), torn(before.files.log, after.files.log))
    const found = await reopened(base)
    assert.ok([before.state, after.state].includes(found), `${before.state}\n${after.state}\n${found}`)
    if (found === after.state) whole++
    rmSync(base, { recursive: true })
  }
  assert.ok(whole > 0 && whole < CUTS, `${whole} changes were whole, the others were cut off`)
})

/** Each act is one change. */
function changesOf({ domain: { keys } }: DomainRig): (turn: number) => Promise<unknown> {
  let id = 'one'
  return async (turn) => {
    const { versions } = keys.getAnyVersion('', id)
    const latest = versions === null ? 1 : latestOf(versions)
    if (turn % 8 === 3) {
      const former = id
      id = `key-${turn}`
      return keys.move(admin, former, id)
    }
    const limits = { minDecryption: latest, minEncryption: latest }
    if (turn % 8 === 5) return keys.changeVersions(admin, id, limits)
    if (turn % 8 === 6) return keys.changeVersions(admin, id, { ...limits, minAvailable: latest })
    if (turn % 8 !== 7) return keys.rotate(admin, id)
    id = `new-${turn}`
    return keys.generate(admin, id, ED25519, 'Curve25519')
  }
}

const filesOf = ({ storeRig: { path } }: DomainRig) => ({
  database: readFileSync(path),
  log: readFileSync(`${path}-wal`),
})

const ANY = { ofAllTypes: true, ofAnyVersion: true }

const stateOf = (domain: Operational): string =>
  JSON.stringify(domain.keys.list('', ANY).map((id) => [id, versionsOf(domain, id)]))

/** Takes each differing sector from the old or the new log, whole in every fourth case. */
function torn(before: Buffer, after: Buffer): Buffer {
  if (Math.random() < 0.25) return after
  const bytes = Buffer.alloc(after.length)
  before.copy(bytes)
  for (let at = 0; at < after.length; at += SECTOR_BYTES)
    if (Math.random() < 0.5) after.copy(bytes, at, at, at + SECTOR_BYTES)
  return bytes
}

/** Also uses each version of each key. */
async function reopened(directory: string): Promise<string> {
  const store = openStore({ dataDirectory: directory, deviceKey: DEVICE_KEY })
  const vault = openVault(store, new Uint8Array(32).fill(3), systemRandom, assert.fail, COLLECTION_NAMES)
  const log = createLog('debug', () => {})
  const deriveKey = () => new Uint8Array(32)
  const domain = openDomain(vault, { pool, random: systemRandom, log, clock: createClock(), deriveKey })
  try {
    for (const id of domain.keys.list('', ANY)) {
      const { versions, type } = domain.keys.getAnyVersion('', id)
      if (type !== 'Curve25519' || versions === null) continue
      for (const version of [latestOf(versions), Math.max(versions.minAvailable, 1)])
        assert.ok(await verify(domain, id, await sign(domain, id, version), version))
    }
    return stateOf(domain)
  } finally {
    domain.close()
    vault.close()
    store.close()
  }
}
