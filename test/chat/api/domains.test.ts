/** Where addresses of accounts may be: contract rows E110 to E113, both paths (11.7), E71; V27. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

const { rig } = chatForEachTest()

test('/realm/domains: a domain is added, changed and removed, on both paths, and told', async () => {
  const queue = await rig.account('hamlet').register({ event_types: ['realm_domains'] })
  const { owner } = rig
  const { new_domain } = await owner.post('/realm/domains', { domain: ' Elsinore.Example ', allow_subdomains: false })
  assert.equal(new_domain[1], 'elsinore.example')
  await owner.patch('/realm/domains/elsinore.example', { allow_subdomains: true })
  assert.deepEqual((await owner.get('/realm/domains')).domains, [
    { domain: 'elsinore.example', allow_subdomains: true },
  ])
  await owner.patch('/realm/domains', { domain: 'elsinore.example', allow_subdomains: false })
  rig.reopen()
  assert.deepEqual((await owner.register()).snapshot.realm_domains, [
    { domain: 'elsinore.example', allow_subdomains: false },
  ])
  await owner.post('/realm/domains', { domain: 'b.example', allow_subdomains: false })
  await owner.delete('/realm/domains/elsinore.example')
  await owner.delete('/realm/domains', { domain: 'b.example' })
  const domain = 'elsinore.example'
  assert.deepEqual(
    (await queue.events()).slice(0, 3).map(({ op, realm_domain }) => [op, realm_domain]),
    [
      ['add', { domain, allow_subdomains: false }],
      ['change', { domain, allow_subdomains: true }],
      ['change', { domain, allow_subdomains: false }],
    ],
  )
  for (const [method, path] of [
    ['PATCH', '/realm/domains/b.example'],
    ['DELETE', '/realm/domains/b.example'],
  ] as const)
    await owner.refused('BAD_REQUEST', method, path, { allow_subdomains: true })
})

test('POST /realm/domains: what is none, and one that is there, are refused', async () => {
  const add = (domain: string) => rig.owner.call('POST', '/realm/domains', { domain, allow_subdomains: true })
  for (const bad of [
    '',
    'local',
    '.example',
    'a..example',
    'a.example.',
    '-a.example',
    'a_b.example',
    'a b.example',
    `${'a'.repeat(80)}.example`,
  ])
    assert.equal((await add(bad)).body.code, 'BAD_REQUEST', bad)
  assert.equal((await add('a.example')).status, 200)
  assert.equal((await add('A.example')).body.code, 'BAD_REQUEST')
})

test('POST /users, PATCH /users/:user_id, PATCH /settings: addresses must be in the domains of the organization, if it limits them', async () => {
  const { owner } = rig
  const hamlet = rig.account('hamlet')
  await owner.post('/realm/domains', { domain: 'one.example', allow_subdomains: false })
  await owner.post('/realm/domains', { domain: 'two.example', allow_subdomains: true })
  const make = (email: string) =>
    owner.call('POST', '/users', { email, password: 'a long password', full_name: 'Somebody' })
  assert.equal((await make('free@anywhere.example')).status, 200)
  await owner.patch('/realm', { emails_restricted_to_domains: true })
  const good = ['a@one.example', 'a@ONE.example'.replace('a@', 'b@'), 'a@two.example', 'a@deep.in.two.example']
  const bad = [
    'a@deep.one.example',
    'a@three.example',
    'a@notone.example',
    'a+b@one.example',
    'a@two.example.evil.example',
  ]
  for (const email of good) assert.equal((await make(email)).status, 200, email)
  for (const email of bad) assert.match((await make(email)).body.msg, /not allowed/, email)
  await owner.refused('BAD_REQUEST', 'PATCH', `/users/${hamlet.user.id}`, { new_email: 'hamlet@three.example' })
  await hamlet.refused('BAD_REQUEST', 'PATCH', '/settings', { email: 'hamlet@three.example' })
  await hamlet.patch('/settings', { email: 'hamlet@one.example' })
})

test('POST /users, PATCH /users/:user_id, PATCH /settings: disposable addresses are refused, unless the organization allows them or has its own domains', async () => {
  const { owner } = rig
  const hamlet = rig.account('hamlet')
  const make = (email: string) =>
    owner.call('POST', '/users', { email, password: 'a long password', full_name: 'Somebody' })
  const disposable = ['a@mailinator.com', 'a@MAILINATOR.com', 'a@deep.mailinator.com', 'a@ｍailinator.com']
  for (const email of disposable) {
    const { status, body } = await make(email)
    assert.deepEqual(
      [status, body.code, body.msg],
      [400, 'BAD_REQUEST', 'Disposable email addresses are not allowed in this organization'],
      email,
    )
  }
  for (const email of ['a@not-mailinator.com', 'a@mailinator.com.example', 'mailinator.com@one.example'])
    assert.equal((await make(email)).status, 200, email)
  await owner.refused('BAD_REQUEST', 'PATCH', `/users/${hamlet.user.id}`, { new_email: 'hamlet@mailinator.com' })
  await hamlet.refused('BAD_REQUEST', 'PATCH', '/settings', { email: 'hamlet@mailinator.com' })

  await owner.patch('/realm', { disallow_disposable_email_addresses: false })
  assert.equal((await make('b@mailinator.com')).status, 200)
  await hamlet.patch('/settings', { email: 'hamlet@mailinator.com' })
  await owner.patch('/realm', { disallow_disposable_email_addresses: true })
  assert.equal((await make('c@mailinator.com')).status, 400)
  await owner.patch(`/users/${hamlet.user.id}`, { full_name: 'Hamlet of Denmark' })
  await owner.post('/realm/domains', { domain: 'mailinator.com', allow_subdomains: false })
  await owner.patch('/realm', { emails_restricted_to_domains: true })
  assert.equal((await make('c@mailinator.com')).status, 200)
})

test('/realm/domains: with the last domain goes the limit', async () => {
  const { owner } = rig
  await owner.post('/realm/domains', { domain: 'one.example', allow_subdomains: false })
  await owner.post('/realm/domains', { domain: 'two.example', allow_subdomains: false })
  await owner.patch('/realm', { emails_restricted_to_domains: true })
  const queue = await owner.register({ event_types: ['realm', 'realm_domains'] })
  await owner.delete('/realm/domains/one.example')
  assert.equal((await owner.register()).snapshot.realm_emails_restricted_to_domains, true)
  await owner.delete('/realm/domains/two.example')
  assert.deepEqual(
    (await queue.events()).map(({ type, op }) => [type, op]),
    [
      ['realm_domains', 'remove'],
      ['realm', 'update'],
      ['realm_domains', 'remove'],
    ],
  )
  assert.equal((await owner.register()).snapshot.realm_emails_restricted_to_domains, false)
})
