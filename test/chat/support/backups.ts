/** Backups of a Coffer with a chat, and what tells two states of that chat from one another. */

import assert from 'node:assert/strict'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import type { Reply } from '../../support/client.ts'
import type { Coffer } from '../../support/process.ts'
import { type Account, ask } from './process.ts'

const BACKUP = 'words that open a backup'
export const BACKUP_USER = 'keeper:passphrase of the keeper'

export async function provisionForBackups(coffer: Coffer): Promise<void> {
  await provision(coffer)
  const json = { newPassphrase: BACKUP, currentPassphrase: '' }
  await expect(204, coffer.call('PUT', '/config/backup-passphrase', { as: ADMIN, json }))
  const user = { realName: 'Keeper', role: 'Backup', passphrase: 'passphrase of the keeper' }
  await expect(201, coffer.call('PUT', '/users/keeper', { as: ADMIN, json: user }))
}

export const backUp = async (coffer: Coffer, form = 'coffer'): Promise<Buffer> =>
  (await expect(200, coffer.call('POST', `/system/backup?format=${form}`, { as: BACKUP_USER }))).bytes

export const restore = (coffer: Coffer, backup: Buffer, as?: string): Promise<Reply> =>
  coffer.call('POST', `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`, {
    ...(as && { as }),
    body: backup,
    type: 'application/octet-stream',
  })

export async function rename(port: number, as: Account, name: string): Promise<void> {
  const { user_id } = (await ask(port, 'GET', '/users/me', { as })).body
  const { status, body } = await ask(port, 'PATCH', `/users/${user_id}`, { as, form: { full_name: name } })
  assert.equal(status, 200, JSON.stringify(body))
}

export const nameOf = async (port: number, as: Account): Promise<string> =>
  (await ask(port, 'GET', '/users/me', { as })).body.full_name

export async function mark(port: number, as: Account, name: string): Promise<void> {
  await rename(port, as, name)
  const file = { name: 'mark.txt', content: name.repeat(20_000) }
  const upload = await ask(port, 'POST', '/user_uploads', { as, file })
  assert.equal(upload.status, 200, JSON.stringify(upload.body))
  const { user_id } = (await ask(port, 'GET', '/users/me', { as })).body
  const form = { type: 'direct', to: JSON.stringify([user_id]), content: `${name} [file](${upload.body.url})` }
  const sent = await ask(port, 'POST', '/messages', { as, form })
  assert.equal(sent.status, 200, JSON.stringify(sent.body))
}

/** Which mark it bears; fails where its parts are of different ones. */
export async function markOf(port: number, as: Account): Promise<string> {
  const name = await nameOf(port, as)
  const range = { anchor: 'newest', num_before: '1', num_after: '0', apply_markdown: 'false' }
  const { body } = await ask(port, 'GET', '/messages', { as, form: range })
  const [, ofMessage, url] = /^(.*) \[file\]\((.*)\)$/.exec(body.messages[0].content)!
  const { attachments } = (await ask(port, 'GET', '/attachments', { as })).body
  const { path_id, size } = attachments.at(0)
  assert.deepEqual([ofMessage, `/user_uploads/${path_id}`, size], [name, url, name.length * 20_000])
  const temporary = await ask(port, 'GET', `/user_uploads/${path_id}`, { as })
  assert.equal(temporary.status, 200, JSON.stringify(temporary.body))
  const content = await ask(port, 'GET', temporary.body.url, { outside: true })
  assert.equal(content.body, name.repeat(20_000))
  return name
}
