/** The page for browsers as it is served, and switched off. Contract sections 3.4 and 3.10. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Reply } from '../../support/client.ts'
import { ADMIN, openRig, operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

const consoleFiles = {
  html: '<!doctype html><title>Coffer</title>',
  scripts: [
    { name: '0123456789abcdef.js', text: `/* ${'larger than one piece '.repeat(4000)}*/` },
    { name: '00112233445566aa.js', text: 'export const more = 1' },
  ],
  css: { name: 'fedcba9876543210.css', text: 'body { color: black }' },
  command: '// the command',
}

const FILES: [path: string, type: string, cacheControl: string, text: string][] = [
  ['/', 'text/html', 'no-cache', consoleFiles.html],
  ...consoleFiles.scripts.map(
    ({ name, text }) =>
      [`/console/${name}`, 'text/javascript', 'public, max-age=31536000, immutable', text] as [
        string,
        string,
        string,
        string,
      ],
  ),
  ['/console/fedcba9876543210.css', 'text/css', 'public, max-age=31536000, immutable', consoleFiles.css.text],
  ['/console/coffer.mjs', 'text/javascript', 'no-cache', consoleFiles.command],
]

const get = (rig: Rig, path: string, headers = {}): Promise<Reply> => rig.call('GET', `/${path}`, { headers })

async function assertServed(rig: Rig): Promise<void> {
  for (const [path, type, cacheControl, text] of FILES) {
    const { status, headers, text: sent } = await get(rig, path)
    assert.equal(status, 200, path)
    assert.equal(sent(), text)
    assert.equal(headers['content-type'], type)
    assert.equal(headers['content-length'], `${Buffer.byteLength(text)}`)
    assert.equal(headers['cache-control'], cacheControl)
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['permissions-policy'], 'camera=(), microphone=(), geolocation=(), usb=()')
  }
}

async function assertUnknown(rig: Rig): Promise<void> {
  for (const [path] of FILES) {
    const { status, json } = await get(rig, path)
    assert.equal(status, 404, path)
    assert.deepEqual(json(), { message: 'No such path' })
  }
  assert.equal((await get(rig, '/docs/')).status, 200)
}

const switchTo = (rig: Rig, status: unknown): Promise<number> =>
  rig.status('PUT', '/config/console', { as: 'admin', json: { status } })

test('the page is served in every state', async (t) => {
  const failed = await openRig(t, null, { consoleFiles })
  assert.equal((await failed.call('GET', '/health/state')).json().state, 'Failed')
  await assertServed(failed)

  const rig = await openRig(t, undefined, { consoleFiles })
  await assertServed(rig)
  const json = { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' }
  assert.equal(await rig.status('POST', '/provision', { json }), 204)
  await assertServed(rig)
  await rig.call('POST', '/lock', { as: 'admin' })
  await assertServed(rig)
})

test('what a browser has already is not sent again, and what nobody has is unknown', async (t) => {
  const rig = await openRig(t, undefined, { consoleFiles })
  for (const [path, , cacheControl] of FILES) {
    const etag = (await get(rig, path)).headers.etag!
    const { status, text, headers } = await get(rig, path, { 'if-none-match': etag })
    assert.deepEqual([status, text(), headers['cache-control']], [304, '', cacheControl])
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
    assert.equal(await rig.status('POST', `/${path}`), 405)
  }
  for (const path of ['/console', '/console/', '/console/main.js', '/index.html', '/console/../console/x.js', '//'])
    assert.equal((await get(rig, path)).status, 404, path)
})

test('without one, as where the sources run, / is unknown', async (t) => {
  const rig = await openRig(t)
  await assertUnknown(rig)
})

test('an Administrator switches it off and on again, also over a lock', async (t) => {
  const rig = await operationalRig(t, { consoleFiles })
  const shown = async () => (await rig.call('GET', '/config/console', { as: 'admin' })).json()
  assert.deepEqual(await shown(), { status: 'on' })
  assert.equal(await switchTo(rig, 'off'), 204)
  assert.deepEqual(await shown(), { status: 'off' })
  await assertUnknown(rig)
  await rig.call('POST', '/lock', { as: 'admin' })
  rig.appliance.configuration.load() // as after a restart
  await assertUnknown(rig)
  await rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  assert.equal(await switchTo(rig, 'on'), 204)
  await assertServed(rig)
  const { lines } = (await rig.call('GET', '/audit?action=/config/console', { as: 'admin' })).json()
  assert.deepEqual(
    lines.map(({ action, user, facts }: { action: string; user: string; facts: object }) => [action, user, facts]),
    [
      ['PUT /config/console', 'admin', { status: 'on' }],
      ['PUT /config/console', 'admin', { status: 'off' }],
    ],
  )
})

test('it is part of a backup', async (t) => {
  const rig = await operationalRig(t, { consoleFiles })
  await switchTo(rig, 'off')
  const json = { newPassphrase: 'backup passphrase', currentPassphrase: '' }
  assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  const backup = (await rig.call('POST', '/system/backup?format=coffer', { as: 'backup' })).bytes
  const other = await openRig(t, new Uint8Array(32).fill(9), { consoleFiles })
  await assertServed(other)
  const query = '?backupPassphrase=backup%20passphrase'
  assert.equal(await other.status('POST', `/system/restore${query}`, { body: backup }), 204)
  await assertUnknown(other)
})

test('only Administrators outside any namespace decide', async (t) => {
  const rig = await operationalRig(t, { consoleFiles })
  await rig.user('backend~chief', 'Administrator')
  await rig.call('PUT', '/namespaces/backend', { as: 'admin' })
  for (const as of ['operator', 'metrics', 'backup', 'backend~chief']) {
    assert.equal(await rig.status('GET', '/config/console', { as }), 403)
    assert.equal(await rig.status('PUT', '/config/console', { as, json: { status: 'off' } }), 403)
  }
  for (const status of ['', 'OFF', false, null]) assert.equal(await switchTo(rig, status), 400)
  await assertServed(rig)
})

test('where it was started without one, nobody switches it on', async (t) => {
  const rig = await operationalRig(t, { consoleFiles, console: false })
  await assertUnknown(rig)
  assert.deepEqual((await rig.call('GET', '/config/console', { as: 'admin' })).json(), { status: 'off' })
  const { status, json } = await rig.call('PUT', '/config/console', { as: 'admin', json: { status: 'on' } })
  assert.equal(status, 412)
  assert.match(json().message, /COFFER_CONSOLE/)
  assert.equal(await switchTo(rig, 'off'), 204)
  await assertUnknown(rig)
})
