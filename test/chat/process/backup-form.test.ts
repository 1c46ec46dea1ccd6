// @test long 10
/** With an organization a backup holds the chat unless it is asked not to, and says what it omits. Contract section 8.2. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BackupStatus } from '../../../firmware/client/types.ts'
import { createRig } from '../../coffer/rig.ts'
import { ADMIN, expect } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { BACKUP_USER, provisionForBackups } from '../support/backups.ts'
import { makeOrganization, reach } from '../support/process.ts'

test('the default, the headers, the status and the command tell of the chat', async (t) => {
  const settings = { COFFER_CHAT_PORT: '0' }
  const coffer = startCoffer(t, { program: await buildForTests(), data: makeDataDirectory(t), settings })
  await coffer.target()
  await provisionForBackups(coffer)
  await makeOrganization(coffer)
  await reach(coffer, 'running')
  const status = async () =>
    (await expect(200, coffer.call('GET', '/system/backup-status', { as: ADMIN }))).json<BackupStatus>()
  assert.deepEqual(await status(), { defaultFormat: 'coffer', nethsmOmits: ['chat'] })

  const command = await createRig()
  t.after(() => command.dispose())
  await command.connect(await coffer.target())
  const backUp = (...options: string[]) => command.coffer('--user', user!, 'backup', 'create', ...options)
  const [user, passphrase] = BACKUP_USER.split(':')
  writeFileSync(join(command.directory, 'askpass'), `#!/bin/sh\necho ${passphrase}\n`)
  const nethsm = await backUp('--output', 'nethsm.backup', '--format', 'nethsm')
  assert.equal(nethsm.code, 0, nethsm.stderr)
  assert.match(nethsm.stderr, /The backup is incomplete\. It omits: chat/)
  assert.equal((await status()).lastComplete, undefined)
  const whole = await backUp('--output', 'whole.backup')
  assert.equal(whole.code, 0, whole.stderr)
  assert.doesNotMatch(whole.stderr, /incomplete/)
  assert.ok((await status()).lastComplete)
  const { stdout } = await command.shell('head -c 15 nethsm.backup; echo; head -c 15 whole.backup')
  assert.match(stdout, /^_NETHSM_BACKUP_\n(?!_NETHSM)/)
})
