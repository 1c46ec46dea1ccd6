/** Users, their tags, and namespaces. Contract sections 3.3, 7.3 to 7.5. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { splitLine } from '../../support/client.ts'
import { operationalRig } from '../../support/in-process.ts'

const USER = { realName: 'Someone', role: 'Operator', passphrase: 'a good passphrase' }

test('creates users under given and generated ids', async (t) => {
  const rig = await operationalRig(t)
  const put = await rig.call('PUT', '/users/one', { as: 'admin', json: USER })
  assert.equal(put.status, 201)
  assert.equal(put.text(), '')
  assert.equal(put.headers.location, '/api/v1/users/one')
  assert.equal(await rig.status('PUT', '/users/one', { as: 'admin', json: USER }), 409)
  const post = await rig.call('POST', '/users', { as: 'admin', json: USER })
  assert.equal(post.status, 201)
  assert.match(post.json().id, /^[0-9a-f]{20}$/)
  assert.equal(post.headers.location, `/api/v1/users/${post.json().id}`)
  assert.deepEqual((await rig.call('GET', `/users/${post.json().id}`, { as: 'admin' })).json(), {
    realName: 'Someone',
    role: 'Operator',
  })
  const { json } = await rig.call('GET', '/users', { as: 'admin' })
  const ids = json().map(({ user }: { user: string }) => user)
  assert.deepEqual(ids, [...ids].sort())
  assert(ids.includes('one') && ids.includes(post.json().id))
})

test('refuses users that are not described well', async (t) => {
  const rig = await operationalRig(t)
  for (const json of [
    { ...USER, passphrase: 'x'.repeat(9) },
    { ...USER, passphrase: 'é'.repeat(101) },
    { ...USER, role: 'King' },
    { ...USER, realName: 1 },
    { ...USER, tags: [] },
    { role: 'Operator', passphrase: USER.passphrase },
    [],
  ])
    assert.equal(await rig.status('PUT', '/users/one', { as: 'admin', json }), 400, JSON.stringify(json))
  assert.equal(await rig.status('PUT', '/users/-bad', { as: 'admin', json: USER }), 400)
  assert.equal(await rig.status('PUT', `/users/${'x'.repeat(129)}`, { as: 'admin', json: USER }), 400)
  assert.equal(await rig.status('PUT', '/users/one', { as: 'admin', body: JSON.stringify(USER) }), 415)
  assert.equal(
    await rig.status('PUT', '/users/one', { as: 'admin', json: { ...USER, passphrase: 'é'.repeat(100) } }),
    201,
  )
  assert.equal(await rig.status('PUT', `/users/${'x'.repeat(128)}`, { as: 'admin', json: USER }), 201)
})

test('deletes users, but never the caller', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('DELETE', '/users/admin', { as: 'admin' }), 400)
  assert.equal(await rig.status('DELETE', '/users/operator', { as: 'admin' }), 204)
  assert.equal(await rig.status('DELETE', '/users/operator', { as: 'admin' }), 404)
  assert.equal(await rig.status('GET', '/users/operator', { as: 'admin' }), 404)
  assert.equal(await rig.status('GET', '/users/operator', { as: 'operator' }), 401)
  await rig.user('second', 'Administrator')
  assert.equal(await rig.status('DELETE', '/users/admin', { as: 'second' }), 204)
})

test('a passphrase set anew is the only one that counts', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('GET', '/users/operator', { as: 'operator' }), 200)
  const set = (line: string, as: string, passphrase: string) =>
    rig.status(...splitLine(line), { as, json: { passphrase } })
  assert.equal(await set('POST /users/operator/passphrase', 'admin', 'the second one'), 204)
  assert.equal(await rig.status('GET', '/users/operator', { as: 'operator' }), 401)
  rig.nowMs += 1000
  rig.use('operator', 'the second one')
  assert.equal(await set('POST /users/operator/passphrase', 'operator', 'the third one'), 204)
  rig.use('operator', 'the third one')
  assert.equal(await rig.status('GET', '/users/operator', { as: 'operator' }), 200)
  assert.equal(await set('POST /users/operator/passphrase', 'admin', 'short'), 400)
  assert.equal(await set('POST /users/nobody/passphrase', 'admin', 'long enough'), 404)
  assert.equal(await set('POST /users/admin/passphrase', 'admin', 'another for admin'), 204)
  rig.use('admin', 'another for admin')
  assert.equal(await rig.status('GET', '/users', { as: 'admin' }), 200)
})

test('own account: Operators see and change themselves, Metrics and Backup nothing', async (t) => {
  const rig = await operationalRig(t)
  const json = { passphrase: 'long enough' }
  assert.equal(await rig.status('GET', '/users/operator/tags', { as: 'operator' }), 200)
  assert.equal(await rig.status('GET', '/users/admin', { as: 'operator' }), 403)
  assert.equal(await rig.status('GET', '/users/nobody', { as: 'operator' }), 403)
  assert.equal(await rig.status('GET', '/users/admin/tags', { as: 'operator' }), 403)
  assert.equal(await rig.status('POST', '/users/admin/passphrase', { as: 'operator', json }), 403)
  assert.equal(await rig.status('GET', '/users', { as: 'operator' }), 403)
  for (const name of ['metrics', 'backup']) {
    assert.equal(await rig.status('GET', `/users/${name}`, { as: name }), 403)
    assert.equal(await rig.status('POST', `/users/${name}/passphrase`, { as: name, json }), 403)
  }
})

test('tags belong to Operators', async (t) => {
  const rig = await operationalRig(t)
  assert.deepEqual((await rig.call('GET', '/users/operator/tags', { as: 'admin' })).json(), [])
  assert.equal(await rig.status('PUT', '/users/operator/tags/zebra', { as: 'admin' }), 204)
  assert.equal(await rig.status('PUT', '/users/operator/tags/ape', { as: 'admin' }), 204)
  const again = await rig.call('PUT', '/users/operator/tags/ape', { as: 'admin' })
  assert.equal(again.status, 304)
  assert.equal(again.text(), '')
  assert.deepEqual((await rig.call('GET', '/users/operator/tags', { as: 'operator' })).json(), ['ape', 'zebra'])
  assert.equal(await rig.status('PUT', '/users/operator/tags/-bad', { as: 'admin' }), 400)
  assert.equal(await rig.status('PUT', '/users/nobody/tags/ape', { as: 'admin' }), 404)
  assert.equal(await rig.status('PUT', '/users/metrics/tags/ape', { as: 'admin' }), 400)
  assert.equal(await rig.status('GET', '/users/metrics/tags', { as: 'admin' }), 404)
  assert.equal(await rig.status('GET', '/users/nobody/tags', { as: 'admin' }), 404)
  assert.equal(await rig.status('DELETE', '/users/operator/tags/ape', { as: 'admin' }), 204)
  assert.equal(await rig.status('DELETE', '/users/operator/tags/ape', { as: 'admin' }), 404)
  assert.equal(await rig.status('DELETE', '/users/nobody/tags/ape', { as: 'admin' }), 404)
})

test('a user has a bounded number of tags', async (t) => {
  const rig = await operationalRig(t)
  const add = (tag: string) => rig.call('PUT', `/users/operator/tags/${tag}`, { as: 'admin' })
  for (let n = 0; n < 256; n++) assert.equal((await add(`tag-${n}`)).status, 204)
  const refused = await add('more')
  assert.equal(refused.status, 400)
  assert.match(refused.text(), /A user may have 256 tags: delete one first/)
  assert.equal((await add('tag-0')).status, 304)
  assert.equal(await rig.status('DELETE', '/users/operator/tags/tag-0', { as: 'admin' }), 204)
  assert.equal((await add('more')).status, 204)
})

test('namespaces are created, listed and deleted', async (t) => {
  const rig = await operationalRig(t)
  assert.deepEqual((await rig.call('GET', '/namespaces', { as: 'admin' })).json(), [])
  assert.equal(await rig.status('PUT', '/namespaces/b', { as: 'admin' }), 204)
  assert.equal(
    await rig.status('PUT', '/namespaces/a', { as: 'admin', headers: { 'content-type': 'application/json' } }),
    204,
  )
  assert.equal(await rig.status('PUT', '/namespaces/a', { as: 'admin' }), 400)
  assert.equal(await rig.status('PUT', '/namespaces/x~y', { as: 'admin' }), 400)
  assert.deepEqual((await rig.call('GET', '/namespaces', { as: 'admin' })).json(), [{ id: 'a' }, { id: 'b' }])
  assert.equal(await rig.status('DELETE', '/namespaces/c', { as: 'admin' }), 404)
  assert.equal(await rig.status('DELETE', '/namespaces/a', { as: 'admin' }), 204)
  assert.equal(await rig.status('DELETE', '/namespaces/a', { as: 'admin' }), 404)
  assert.equal(await rig.status('GET', '/namespaces', { as: 'operator' }), 403)
})

test('a namespace is handed over when it is created, and taken back when it is deleted', async (t) => {
  const rig = await operationalRig(t)
  const json = USER
  await rig.user('ns~boss', 'Administrator')
  await rig.user('ns~op', 'Operator')
  assert.equal(await rig.status('PUT', '/users/ns~boss/tags/x', { as: 'admin' }), 400)
  assert.equal(await rig.status('GET', '/keys', { as: 'ns~boss' }), 403)
  assert.equal(await rig.status('GET', '/keys', { as: 'ns~nobody' }), 401)
  rig.nowMs += 1000
  assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/keys', { as: 'ns~boss' }), 200)

  assert.equal(await rig.status('GET', '/users/ns~op', { as: 'admin' }), 200)
  assert.equal(await rig.status('GET', '/users/ns~op/tags', { as: 'admin' }), 200)
  assert.equal(await rig.status('PUT', '/users/ns~new', { as: 'admin', json }), 403)
  assert.equal(await rig.status('PUT', '/users/ns~op', { as: 'admin', json }), 403)
  assert.equal(await rig.status('PUT', '/users/ns~new', { as: 'admin', json: {} }), 400)
  assert.equal(await rig.status('POST', '/users/ns~', { as: 'admin', json }), 403)
  assert.equal(await rig.status('DELETE', '/users/ns~op', { as: 'admin' }), 403)
  assert.equal(await rig.status('PUT', '/users/ns~op/tags/x', { as: 'admin' }), 403)
  assert.equal(await rig.status('DELETE', '/users/ns~op/tags/x', { as: 'admin' }), 403)
  assert.equal(
    await rig.status('POST', '/users/ns~op/passphrase', { as: 'admin', json: { passphrase: 'long enough' } }),
    403,
  )

  const boss = { as: 'ns~boss' }
  assert.equal(await rig.status('PUT', '/users/ns~new', { ...boss, json }), 201)
  assert.equal(await rig.status('PUT', '/users/ns~op/tags/x', { ...boss }), 204)
  assert.equal(await rig.status('GET', '/users/admin', { ...boss }), 403)
  assert.equal(await rig.status('GET', '/users/other~x', { ...boss }), 403)
  assert.equal(await rig.status('PUT', '/users/root', { ...boss, json }), 403)
  assert.equal(await rig.status('PUT', '/users/other~x', { ...boss, json }), 403)
  assert.equal(await rig.status('GET', '/namespaces', { ...boss }), 403)
  const made = (await rig.call('POST', '/users', { ...boss, json })).json().id
  assert.match(made, /^ns~[0-9a-f]{20}$/)
  const own = (await rig.call('GET', '/users', { ...boss })).json().map(({ user }: { user: string }) => user)
  assert.deepEqual(own, [made, 'ns~boss', 'ns~new', 'ns~op'].sort())
  const all = (await rig.call('GET', '/users', { as: 'admin' })).json().map(({ user }: { user: string }) => user)
  assert(all.includes('ns~boss') && all.includes('admin'))

  assert.equal(await rig.status('DELETE', '/namespaces/ns', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/keys', { ...boss }), 403)
  assert.equal(await rig.status('DELETE', '/users/ns~new', { as: 'admin' }), 204)
  assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/keys', { ...boss }), 200)
})

test('users with generated ids go into namespaces by a path that ends with ~', async (t) => {
  const rig = await operationalRig(t)
  const { status, json, headers } = await rig.call('POST', '/users/team%7E', { as: 'admin', json: USER })
  assert.equal(status, 201)
  assert.match(json().id, /^team~[0-9a-f]{20}$/)
  assert.equal(headers.location, `/api/v1/users/${json().id}`)
  for (const path of ['team', 'team~x', '~', '-~'])
    assert.equal(await rig.status('POST', `/users/${path}`, { as: 'admin', json: USER }), 400)
})

test('users carry etags', async (t) => {
  const rig = await operationalRig(t)
  const list = (await rig.call('GET', '/users', { as: 'admin' })).headers.etag!
  const one = (await rig.call('GET', '/users/operator', { as: 'admin' })).headers.etag!
  assert.equal(await rig.status('GET', '/users', { as: 'admin', headers: { 'if-none-match': list } }), 304)
  assert.equal(await rig.status('GET', '/users/operator', { as: 'admin', headers: { 'if-none-match': one } }), 304)
  assert.equal(
    await rig.status('PUT', '/users/operator', { as: 'admin', json: USER, headers: { 'if-none-match': '*' } }),
    412,
  )
  assert.equal(await rig.status('PUT', '/users/new', { as: 'admin', json: USER, headers: { 'if-match': '*' } }), 412)
  assert.equal(
    await rig.status('PUT', '/users/new', { as: 'admin', json: USER, headers: { 'if-none-match': '*' } }),
    201,
  )
  assert.notEqual((await rig.call('GET', '/users', { as: 'admin' })).headers.etag, list)
  assert.equal(await rig.status('DELETE', '/users/operator', { as: 'admin', headers: { 'if-match': '"other"' } }), 412)
  assert.equal(await rig.status('DELETE', '/users/operator', { as: 'admin', headers: { 'if-match': one } }), 204)
})

test('the log tells who did what to users and namespaces, and no passphrase', async (t) => {
  const rig = await operationalRig(t)
  await rig.call('PUT', '/users/operator/tags/blue', { as: 'admin' })
  await rig.call('DELETE', '/users/operator/tags/blue', { as: 'admin' })
  await rig.call('POST', '/users/operator/passphrase', { as: 'admin', json: { passphrase: 'a hidden passphrase' } })
  await rig.call('DELETE', '/users/operator', { as: 'admin' })
  await rig.call('PUT', '/namespaces/ns', { as: 'admin' })
  await rig.call('DELETE', '/namespaces/ns', { as: 'admin' })
  rig.use('admin', 'a wrong passphrase')
  await rig.call('GET', '/users', { as: 'admin' })
  const text = rig.entries.map(({ level, source, message }) => `${level} ${source} ${message}`).join('\n')
  for (const line of [
    /info users .*added operator \(operator\) as Operator by admin/,
    /info users .*added tag blue to operator by admin/,
    /info users .*removed tag blue from operator by admin/,
    /info users .*changed the passphrase of operator by admin/,
    /info users .*removed operator by admin/,
    /info namespaces .*created ns by admin/,
    /info namespaces .*removed ns by admin/,
    /warning access .*admin/,
  ])
    assert.match(text, line)
  assert.doesNotMatch(text, /passphrase of operator"|hidden|wrong passphrase|admin passphrase/)
})
