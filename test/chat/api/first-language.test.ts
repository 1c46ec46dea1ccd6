/** The language that new accounts begin with: contract section 2.6. */

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago: admin, hamlet } = chatForEachTest({ iago: 'administrator', hamlet: 'member' })

async function languageOfNew(name: string): Promise<string> {
  const values = { email: `${name}@example.com`, full_name: name, password: `a password of ${name}` }
  const { user_id: id } = await admin.post('/users', values)
  const client = rig.clientOf(rig.chat.realm.state.user.get(id)!)
  return (await client.register()).snapshot.user_settings.default_language
}

it('is that of the organization; accounts that exist keep theirs', async () => {
  assert.equal(await languageOfNew('gertrude'), 'en')
  await admin.patch('/realm', { default_language: 'de' })
  assert.equal(await languageOfNew('ophelia'), 'de')
  assert.equal((await hamlet.register()).snapshot.user_settings.default_language, 'en')
  await admin.patch('/realm', { default_language: 'en' })
  assert.equal(await languageOfNew('horatio'), 'en')
})
