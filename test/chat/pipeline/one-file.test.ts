/** A body with more than one file: contract rows E115, E130. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

/** 1 pixel wide, 2 high. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
  'base64',
)
const words = (text: string) => new Blob([text])

async function send(client: Client, path: string, parts: readonly [name: string, value: Blob | string][]) {
  const form = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, value, `${name}.txt`)
  }
  const authorization = `Basic ${Buffer.from(`${client.user.email}:${client.key}`).toString('base64')}`
  const response = await rig.chat.api.request(`http://chat.example/api/v1${path}`, {
    method: 'POST',
    headers: { authorization },
    body: form,
  })
  // biome-ignore lint/suspicious/noExplicitAny: members of any answer are looked at
  return { status: response.status, body: (await response.json()) as any }
}

describe('A body with two files', () => {
  it('is refused, and neither is kept', async () => {
    for (const second of ['b', 'a']) {
      const { status, body } = await send(hamlet, '/user_uploads', [
        ['a', words('first'.repeat(100_000))],
        [second, words('second')],
      ])
      assert.equal(status, 400)
      assert.equal(body.code, 'BAD_REQUEST')
      assert.equal(body.msg, 'You may only upload one file at a time')
    }
    assert.deepEqual((await hamlet.get('/attachments')).attachments, [])
    assert.deepEqual(rig.chat.realm.store.files.all(), [])
  })

  it('is refused with a text between them, and taken with texts around one', async () => {
    const between = await send(hamlet, '/user_uploads', [
      ['a', words('first')],
      ['note', 'text'],
      ['b', words('second')],
    ])
    assert.equal(between.status, 400)
    const around = await send(hamlet, '/user_uploads', [
      ['before', 'text'],
      ['a', words('first')],
      ['after', 'text'],
    ])
    assert.equal(around.status, 200)
    assert.equal((await hamlet.get('/attachments')).attachments.length, 1)
  })

  it('makes no emoji and sets no picture', async () => {
    for (const path of ['/realm/emoji/yorick', '/users/me/avatar', '/realm/icon']) {
      const { status, body } = await send(rig.owner, path, [
        ['a', new Blob([PNG])],
        ['b', new Blob([PNG])],
      ])
      assert.equal(status, 400, path)
      assert.equal(body.msg, 'You may only upload one file at a time', path)
    }
    assert.deepEqual((await rig.owner.get('/realm/emoji')).emoji, {})
  })
})
