/** The views of a client's side bar: contract row E41, V17. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const at = (fragment: string) => `/navigation_views/${encodeURIComponent(fragment)}`

describe('/navigation_views: navigation views', () => {
  it('are added, changed and removed, told to oneself alone, and there after a restart', async () => {
    const queue = await hamlet.register({ event_types: ['navigation_view'] })
    const others = await ophelia.register({ event_types: ['navigation_view'] })
    await hamlet.post('/navigation_views', { fragment: 'inbox', is_pinned: true })
    await hamlet.post('/navigation_views', { fragment: 'narrow/is/alerted', is_pinned: false, name: ' Alerts ' })
    await hamlet.patch(at('narrow/is/alerted'), { name: 'Alarms', is_pinned: true })
    await hamlet.patch(at('narrow/is/alerted'), { name: 'Alarms' })
    await hamlet.patch(at('inbox'), { is_pinned: false })
    await hamlet.delete(at('inbox'))
    const type = 'navigation_view'
    const alarms = { fragment: 'narrow/is/alerted', is_pinned: true, name: 'Alarms' }
    assert.deepEqual(
      (await queue.events()).map(({ id, ...event }) => event),
      [
        { type, op: 'add', navigation_view: { fragment: 'inbox', is_pinned: true, name: null } },
        { type, op: 'add', navigation_view: { ...alarms, is_pinned: false, name: 'Alerts' } },
        { type, op: 'update', fragment: alarms.fragment, data: { name: 'Alarms', is_pinned: true } },
        { type, op: 'update', fragment: 'inbox', data: { is_pinned: false } },
        { type, op: 'remove', fragment: 'inbox' },
      ],
    )
    assert.deepEqual(await others.events(), [])
    rig.reopen()
    assert.deepEqual((await hamlet.get('/navigation_views')).navigation_views, [alarms])
    assert.deepEqual((await hamlet.register()).snapshot.navigation_views, [alarms])
    assert.deepEqual((await ophelia.get('/navigation_views')).navigation_views, [])
  })

  it('custom ones need a name of their own; those that clients have refuse one', async () => {
    const refuse = async (msg: string, values: Record<string, unknown>) => {
      const answer = await ophelia.refused('BAD_REQUEST', 'POST', '/navigation_views', { is_pinned: true, ...values })
      assert.equal(answer.body.msg, msg)
    }
    await refuse('Custom views must have a valid name.', { fragment: 'narrow/is/dm' })
    await refuse('Built-in views cannot have a custom name.', { fragment: 'recent', name: 'Mine' })
    await ophelia.post('/navigation_views', { fragment: 'narrow/is/dm', is_pinned: true, name: 'Talks' })
    await ophelia.post('/navigation_views', { fragment: 'recent', is_pinned: true })
    await refuse('Navigation view already exists.', { fragment: 'narrow/is/dm', name: 'Other' })
    await refuse('Navigation view already exists.', { fragment: 'narrow/is/dm/2', name: 'Talks' })
    await ophelia.refused('BAD_REQUEST', 'PATCH', at('recent'), { name: 'Mine' })
    await ophelia.refused('REQUEST_VARIABLE_INVALID', 'POST', '/navigation_views', { fragment: ' ', is_pinned: true })
    const unknown = await hamlet.refused('BAD_REQUEST', 'PATCH', at('narrow/is/dm'), { is_pinned: false })
    assert.equal(unknown.status, 404)
    assert.equal((await hamlet.refused('BAD_REQUEST', 'DELETE', at('narrow/is/dm'))).status, 404)
  })
})
