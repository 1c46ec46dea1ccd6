/** Texts that are sent again and again: contract row E40, V39. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

describe('/saved_snippets: saved snippets', () => {
  it('are made, changed and removed, told to oneself alone, and there after a restart', async () => {
    const queue = await hamlet.register({ event_types: ['saved_snippets'] })
    const others = await ophelia.register({ event_types: ['saved_snippets'] })
    const made = await hamlet.post('/saved_snippets', { title: ' Greeting ', content: 'Good morrow  ' })
    const second = await hamlet.post('/saved_snippets', { title: 'Farewell', content: 'Adieu' })
    const snippet = {
      id: made.saved_snippet_id,
      title: 'Greeting',
      content: 'Good morrow',
      date_created: Math.floor(rig.now() / 1000),
    }
    rig.advance(60)
    await hamlet.patch(`/saved_snippets/${snippet.id}`, { content: 'Good night' })
    await hamlet.patch(`/saved_snippets/${snippet.id}`, { title: 'Greeting' })
    await hamlet.patch(`/saved_snippets/${snippet.id}`)
    await hamlet.delete(`/saved_snippets/${second.saved_snippet_id}`)
    const changed = { ...snippet, content: 'Good night' }
    const told = (await queue.events()).map(({ id, ...event }) => event)
    assert.deepEqual(
      [told[0], ...told.slice(2)],
      [
        { type: 'saved_snippets', op: 'add', saved_snippet: snippet },
        { type: 'saved_snippets', op: 'update', saved_snippet: changed },
        { type: 'saved_snippets', op: 'remove', saved_snippet_id: second.saved_snippet_id },
      ],
    )
    assert.deepEqual(await others.events(), [])
    rig.reopen()
    assert.deepEqual((await hamlet.get('/saved_snippets')).saved_snippets, [changed])
    assert.deepEqual((await hamlet.register()).snapshot.saved_snippets, [changed])
    assert.deepEqual((await ophelia.get('/saved_snippets')).saved_snippets, [])
  })

  it('of others are unknown, and what cannot be is refused', async () => {
    const { saved_snippet_id } = await hamlet.post('/saved_snippets', { title: 'Mine', content: 'x' })
    for (const [client, id] of [[ophelia, saved_snippet_id] as const, [hamlet, 9999] as const]) {
      const path = `/saved_snippets/${id}`
      assert.equal((await client.refused('BAD_REQUEST', 'PATCH', path, { title: 'theirs' })).status, 404)
      assert.equal((await client.refused('BAD_REQUEST', 'DELETE', path)).status, 404)
    }
    const refuse = (code: string, values: Record<string, unknown>) =>
      ophelia.refused(code, 'POST', '/saved_snippets', values)
    await refuse('REQUEST_VARIABLE_INVALID', { title: ' ', content: 'x' })
    await refuse('REQUEST_VARIABLE_INVALID', { title: 'x'.repeat(61), content: 'x' })
    await refuse('BAD_REQUEST', { title: 'x', content: ' ' })
    await refuse('REQUEST_VARIABLE_MISSING', { title: 'x' })
    assert.deepEqual((await ophelia.get('/saved_snippets')).saved_snippets, [])
  })
})
