/** Personal data of an account: contract section 3.4, rows E82, E83 and E87. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

describe('/users/me/alert_words: alert words', () => {
  it('are added, kept once in whatever case, and taken away', async () => {
    const queue = await hamlet.register({ event_types: ['alert_words'] })
    const { alert_words } = await hamlet.post('/users/me/alert_words', {
      alert_words: ['ghost', ' Denmark ', 'GHOST', ''],
    })
    assert.deepEqual(alert_words, ['ghost', 'Denmark'])
    await hamlet.post('/users/me/alert_words', { alert_words: ['denmark'] })
    assert.deepEqual((await hamlet.get('/users/me/alert_words')).alert_words, ['ghost', 'Denmark'])
    await hamlet.delete('/users/me/alert_words', { alert_words: ['Ghost', 'other'] })
    const events = await queue.events()
    assert.deepEqual(
      events.map(({ alert_words }: { alert_words: string[] }) => alert_words),
      [['ghost', 'Denmark'], ['Denmark']],
    )
    assert.deepEqual((await hamlet.register()).snapshot.alert_words, ['Denmark'])
    assert.deepEqual((await ophelia.register()).snapshot.alert_words, [])
  })

  it('too long ones, too many and wrong types are refused, and nothing is kept of them', async () => {
    const refuse = (code: string, alert_words: unknown) =>
      ophelia.refused(code, 'POST', '/users/me/alert_words', { alert_words })
    await refuse('REQUEST_VARIABLE_INVALID', ['fine', 'x'.repeat(101)])
    await refuse('REQUEST_VARIABLE_INVALID', [1])
    await refuse('INVALID_JSON', 'ghost')
    await refuse(
      'BAD_REQUEST',
      Array.from({ length: 1001 }, (_, index) => `word ${index}`),
    )
    assert.deepEqual((await ophelia.get('/users/me/alert_words')).alert_words, [])
  })
})

describe('/users/me/muted_users/:user_id: muted users', () => {
  it('are kept with the time, told to oneself, and let go', async () => {
    const queue = await hamlet.register({ event_types: ['muted_users'] })
    await hamlet.post(`/users/me/muted_users/${ophelia.user.id}`)
    const muted = [{ id: ophelia.user.id, timestamp: Math.floor(rig.now() / 1000) }]
    assert.deepEqual((await queue.events())[0].muted_users, muted)
    assert.deepEqual((await hamlet.register()).snapshot.muted_users, muted)
    await hamlet.refused('BAD_REQUEST', 'POST', `/users/me/muted_users/${ophelia.user.id}`)
    await hamlet.delete(`/users/me/muted_users/${ophelia.user.id}`)
    assert.deepEqual((await queue.events())[0].muted_users, [])
    await hamlet.refused('BAD_REQUEST', 'DELETE', `/users/me/muted_users/${ophelia.user.id}`)
  })

  it('have no unread messages any more, and none from now on', async () => {
    const yorick = rig.account('yorick')
    const say = async (client: Client, content: string): Promise<number> =>
      (await client.post('/messages', { type: 'direct', to: [hamlet.user.id], content })).id
    const ids = [await say(yorick, 'Alas'), await say(yorick, 'poor')]
    const other = await say(ophelia, 'my lord')
    const queue = await hamlet.register({ event_types: ['muted_users', 'update_message_flags'] })
    await hamlet.post(`/users/me/muted_users/${yorick.user.id}`)
    const [, flags, ...rest] = await queue.events()
    assert.deepEqual([flags.op, flags.flag, flags.messages, rest], ['add', 'read', ids, []])
    await say(yorick, 'Horatio')
    const { unread_msgs } = (await hamlet.register()).snapshot
    assert.deepEqual(
      unread_msgs.pms.map(({ unread_message_ids }: { unread_message_ids: number[] }) => unread_message_ids),
      [[other]],
    )
  })

  it('may be bots (level 188)', async () => {
    const { user_id } = await ophelia.post('/bots', { full_name: 'Noisy', short_name: 'noisy' })
    await hamlet.post(`/users/me/muted_users/${user_id}`)
    await hamlet.delete(`/users/me/muted_users/${user_id}`)
  })

  it('are others, and there', async () => {
    await hamlet.refused('BAD_REQUEST', 'POST', `/users/me/muted_users/${hamlet.user.id}`)
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/muted_users/9999')
  })
})

describe('POST /users/me/onboarding_steps: onboarding steps', () => {
  it('what was seen is not shown again', async () => {
    const names = (steps: { name: string }[]) => steps.map(({ name }) => name)
    const queue = await hamlet.register()
    const before = names(queue.snapshot.onboarding_steps)
    assert.ok(before.includes('intro_inbox_view_modal'))
    assert.equal(queue.snapshot.navigation_tour_video_url, null)
    await hamlet.post('/users/me/onboarding_steps', { onboarding_step: 'intro_inbox_view_modal' })
    await hamlet.post('/users/me/onboarding_steps', { onboarding_step: 'intro_inbox_view_modal' })
    const events = await queue.events()
    assert.equal(events.length, 1)
    assert.deepEqual(
      names(events[0].onboarding_steps),
      before.filter((name) => name !== 'intro_inbox_view_modal'),
    )
    assert.deepEqual((await hamlet.register()).snapshot.onboarding_steps, events[0].onboarding_steps)
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/onboarding_steps', { onboarding_step: 'unheard_of' })
  })
})
