/** Results and errors for people: an object is a table, a refusal names the account that was tried. */

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { createRig, type Rig } from './rig.ts'

let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
})
after(async () => {
  rig.dispose()
  await appliance.dispose()
})

test('key show is a table without JSON, and --json is what the API sent', async () => {
  const made = await rig.coffer('key', 'generate', 'shown', '--for', 'sign', '--tags', 'berlin', '--tags', 'paris')
  assert.equal(made.code, 0, made.stderr)
  const { stdout } = await rig.coffer('key', 'show', 'shown')
  assert.match(stdout, /^type +EC_P256$/m)
  assert.match(stdout, /^mechanisms +ECDSA_Signature$/m)
  assert.match(stdout, /^restrictions\.tags +berlin, paris$/m)
  assert.match(stdout, /^public\.data +[A-Za-z0-9+/]+=*$/m)
  assert.doesNotMatch(stdout, /[{}"]/)
  const columns = new Set(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => /^\S+ +/.exec(line)![0].length),
  )
  assert.equal(columns.size, 1, stdout)
  const { stdout: json } = await rig.coffer('key', 'show', 'shown', '--json')
  const key = JSON.parse(json) as { restrictions: unknown; operations: number }
  assert.deepEqual([key.restrictions, key.operations], [{ tags: ['berlin', 'paris'] }, 0])
})

test('other results that have members in members are tables, too', async () => {
  const { stdout, code } = await rig.coffer('system', 'info')
  assert.equal(code, 0)
  assert.doesNotMatch(stdout, /[{}"]/)
})

test('a refusal for want of rights names the user that was tried', async () => {
  const wrong = await rig.coffer('key', 'list', '--user', 'nobody')
  assert.deepEqual(
    [wrong.code, /^coffer: key list: .*\(401, user nobody\)\n/.test(wrong.stderr)],
    [5, true],
    wrong.stderr,
  )
  const role = await rig.coffer('user', 'list', '--user', 'web')
  assert.deepEqual([role.code, /\(403, user web\)/.test(role.stderr)], [1, true], role.stderr)
  const preset = await rig.shell('coffer key list', { COFFER_ASKPASS: '', COFFER_PASSPHRASE: 'other words' })
  assert.deepEqual([preset.code, /\(401, user admin\)/.test(preset.stderr)], [5, true], preset.stderr)
})
