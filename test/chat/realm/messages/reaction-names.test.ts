/** The name and the code of a reaction are of one emoji: contract row E16. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../../support/suite.ts'

const { hamlet, cordelia } = await chatSuite({ hamlet: 'member', cordelia: 'member' })

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
  'base64',
)

const THUMBS_UP = { emoji_code: '1f44d', reaction_type: 'unicode_emoji' }

async function message(): Promise<string> {
  const { id } = await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content: 'Words' })
  return `/messages/${id}/reactions`
}

const namesOn = async (path: string): Promise<string[]> => {
  const id = Number(path.split('/')[2])
  const { message } = await hamlet.get(`/messages/${id}`)
  return message.reactions.map(({ emoji_name }: { emoji_name: string }) => emoji_name)
}

describe('The name and the code of a reaction', () => {
  it('are refused where they are of two emoji, or of none', async () => {
    const path = await message()
    const refused: [values: object, message: string][] = [
      [{ emoji_name: 'smile', ...THUMBS_UP }, 'Invalid emoji name.'],
      [{ emoji_name: 'smile', emoji_code: '1f44d' }, 'Invalid emoji name.'],
      [{ emoji_name: 'smile', emoji_code: 'ffff1', reaction_type: 'unicode_emoji' }, 'Invalid emoji code.'],
      [{ emoji_name: 'zulip', emoji_code: '1f44d', reaction_type: 'zulip_extra_emoji' }, 'Invalid emoji code.'],
    ]
    for (const [values, expected] of refused) {
      const { body } = await hamlet.refused('BAD_REQUEST', 'POST', path, { ...values })
      assert.equal(body.msg, expected, JSON.stringify(values))
    }
    assert.deepEqual(await namesOn(path), [])
  })

  it('have the usual name where a client sends one that is unknown, as the example of zulip-js does', async () => {
    const path = await message()
    await hamlet.post(path, { emoji_name: 'no_such_name', ...THUMBS_UP })
    assert.deepEqual(await namesOn(path), ['+1'])
  })

  it('are refused in a status, too', async () => {
    const values = { status_text: 'away', emoji_name: 'smile', ...THUMBS_UP }
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/status', values)
  })

  it('of a later reaction are those of the first one with the emoji', async () => {
    const path = await message()
    await hamlet.post(path, { emoji_name: '+1', ...THUMBS_UP })
    const queue = await hamlet.register({ event_types: ['reaction'] })
    await cordelia.post(path, { emoji_name: 'thumbs_up', ...THUMBS_UP })
    assert.deepEqual(await namesOn(path), ['+1', '+1'])
    assert.equal((await queue.events())[0].emoji_name, '+1')
    await cordelia.refused('REACTION_ALREADY_EXISTS', 'POST', path, { emoji_name: 'thumbs_up' })
    await cordelia.delete(path, { emoji_name: 'thumbs_up', ...THUMBS_UP })
    assert.deepEqual(await namesOn(path), ['+1'])
  })
})

describe('The name of an emoji of the organization', () => {
  it('ends with a letter or a digit', async () => {
    for (const name of ['-', '_', 'a-', 'skull_', 'a.']) {
      const { status, body } = await hamlet.upload('POST', `/realm/emoji/${name}`, PNG)
      assert.equal(status, 400, name)
      assert.equal(body.msg, 'Emoji names must end with either a letter or digit.', name)
    }
    for (const name of ['-a', 'skull-2'])
      assert.equal((await hamlet.upload('POST', `/realm/emoji/${name}`, PNG)).status, 200, name)
  })
})
