import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { makeOperationalRig, type Rig } from '../../support/in-process.ts'

let rig: Rig
before(async () => {
  rig = await makeOperationalRig()
  await rig.user('web', 'Operator')
  await rig.user('team~chief', 'Administrator')
  assert.equal(await rig.status('PUT', '/namespaces/team', { as: 'admin' }), 204)
  await rig.user('team~clerk', 'Operator', 'team~chief')
  assert.equal(await rig.status('PUT', '/users/web/tags/berlin', { as: 'admin' }), 204)
})
after(() => rig.close())

interface Page {
  users: { user: string; realName: string; role: string; tags?: string[] }[]
  next?: string
}

const pageOf = async (query: string, as = 'admin'): Promise<Page> => {
  const answer = await rig.call('GET', `/users?details=true${query}`, { as })
  assert.equal(answer.status, 200, answer.text())
  assert.equal(answer.headers.etag, undefined)
  return answer.json()
}
const idsOf = ({ users }: Page): string[] => users.map(({ user }) => user)
const listed = async (as = 'admin'): Promise<string[]> =>
  (await rig.call('GET', '/users', { as })).json().map(({ user }: { user: string }) => user)

test('shows of each user what the user and the tags show', async () => {
  const page = await pageOf('')
  assert.deepEqual(idsOf(page), await listed())
  assert.equal(page.next, undefined)
  for (const { user, tags, ...info } of page.users) {
    const path = `/users/${user}`
    assert.deepEqual(info, (await rig.call('GET', path, { as: 'admin' })).json())
    const shown = await rig.call('GET', `${path}/tags`, { as: 'admin' })
    assert.deepEqual(tags, shown.status === 200 ? shown.json() : undefined, user)
  }
  assert.deepEqual(page.users.find(({ user }) => user === 'web')!.tags, ['berlin'])
})

test('pages in any size join to the whole, of a namespace to its users', async () => {
  for (const as of ['admin', 'team~chief']) {
    const all = await listed(as)
    for (const limit of [1, 2, all.length, all.length + 1, 1000]) {
      const ids: string[] = []
      let after = ''
      for (;;) {
        const page = await pageOf(`&limit=${limit}${after}`, as)
        assert.ok(page.users.length <= limit)
        ids.push(...idsOf(page))
        if (page.next === undefined) break
        after = `&after=${encodeURIComponent(page.next)}`
      }
      assert.deepEqual(ids, all, `${as}, ${limit}`)
    }
  }
  assert.deepEqual(await listed('team~chief'), ['team~chief', 'team~clerk'])
  assert.deepEqual(idsOf(await pageOf('&after=web', 'team~chief')), [])
})

test('refuses other sizes and pages without details, and roles that may not list', async () => {
  for (const query of ['limit=2', 'after=web', 'details=yes', 'details=true&limit=0', 'details=true&limit=1001'])
    assert.equal(await rig.status('GET', `/users?${query}`, { as: 'admin' }), 400, query)
  for (const as of ['operator', 'metrics', 'backup', 'team~clerk'])
    assert.equal(await rig.status('GET', '/users?details=true', { as }), 403, as)
})
