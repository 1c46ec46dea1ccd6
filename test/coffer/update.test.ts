// @test long 30
/** `coffer update` with images of a release: another kind of file, progress, notes, installed and good, and one that does not prove good. */

import assert from 'node:assert/strict'
import { cpSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../tools/free-ports.ts'
import { provision } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'
import { makeUpdates, NOTES } from '../support/updates.ts'
import { createRig } from './rig.ts'

const SHOWN = NOTES.replace('\u202e', ' ')
const PASSPHRASES = { unlockPassphrase: 'words that unlock it', adminPassphrase: 'words of the administrator' }

test(
  'an update is sent, shown, installed and good; one that is not is told with its reason',
  needs('script'),
  async (t) => {
    const program = await buildForTests()
    const { key, good, next, bad } = await makeUpdates()
    const ofNext = new RegExp(`^coffer-${next}\\b`)
    const data = makeDataDirectory(t)
    cpSync(key, join(data, 'release.pub'))
    const rig = await createRig()
    t.after(() => rig.dispose())
    const coffer = startCoffer(t, { program, data, settings: { COFFER_PORT: `${await freePort()}` } })
    await coffer.see(/Unprovisioned/)
    await provision(coffer, { ...PASSPHRASES, systemTime: new Date().toISOString() })
    await rig.connect(await coffer.target())

    const other = await rig.coffer('update', key, '--yes')
    assert.deepEqual([other.code, other.stdout], [1, ''], other.stderr)
    assert.match(other.stderr, /\(400\)/)

    const terminal = await rig.shell(
      `script --quiet --return --command "coffer update ${good} --upload-only" /dev/null`,
    )
    assert.equal(terminal.code, 0, terminal.stdout)
    const megabytes = (statSync(good).size / 1e6).toFixed(1)
    assert.match(terminal.stdout, new RegExp(`\\[#{24}\\] 100 %, ${megabytes.replace('.', '\\.')} MB, [\\d.]+ [KM]B/s`))
    assert.ok(terminal.stdout.includes(SHOWN), terminal.stdout)
    assert.equal((await rig.coffer('cancel-update')).code, 0)
    assert.equal((await rig.coffer('commit-update')).code, 1)

    const asked = await rig.coffer('update', good)
    assert.deepEqual([asked.code, asked.stdout], [0, `${SHOWN}\n`], asked.stderr)
    assert.match(asked.stderr, /It is pending: coffer commit-update or coffer cancel-update/)

    assert.equal((await rig.coffer('update', good, '--yes')).code, 1) // while one is pending
    assert.equal((await rig.coffer('cancel-update')).code, 0)

    const installed = await rig.coffer('update', good, '--yes', '--json')
    assert.equal(installed.code, 0, installed.stderr)
    assert.deepEqual(JSON.parse(installed.stdout), { releaseNotes: NOTES })
    assert.match(installed.stderr, /and good/)
    const { stdout: info } = await rig.coffer('system', 'info', '--json')
    assert.match(JSON.parse(info).softwareBuild, ofNext)

    const fallen = await rig.coffer('update', bad, '--yes')
    assert.equal(fallen.code, 1, fallen.stderr)
    assert.match(fallen.stderr, /the update was rolled back: .*exit code 3/)
    assert.match(JSON.parse((await rig.coffer('system', 'info', '--json')).stdout).softwareBuild, ofNext)
    assert.match((await rig.coffer('system', 'info')).stdout, new RegExp(`^version +${next}\\b`, 'm'))
  },
)
