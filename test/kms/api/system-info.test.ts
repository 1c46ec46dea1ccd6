/** Versions that clients see: the API's where they depend on it, ours elsewhere. Contract section 4.8. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { operationalRig } from '../../support/in-process.ts'

test('softwareVersion is that of the API, softwareBuild names our own version', async (t) => {
  const rig = await operationalRig(t)
  const info = (await rig.call('GET', '/system/info', { as: 'admin' })).json()
  assert.equal(info.softwareVersion, '5.0')
  assert.equal(info.softwareBuild, 'coffer-1.2.3')
  const software = (await rig.call('GET', '/system/software', { as: 'admin' })).json()
  assert.equal(software.version, '1.2.3')
})
