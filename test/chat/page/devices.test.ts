// @test long 60
/** Sessions and keys of an account on the page, pages of other ports of its host, drafts in one place. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { needs } from '../../support/tools.ts'
import { ask, keyOf, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const openDevices = async (page: Page) => {
  await page.getByLabel('Menu').click()
  await page.getByRole('link', { name: 'Devices' }).click()
  await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
}

test('devices lists browsers and programs; one that is revoked ends at once, with its waiting poll', async () => {
  const desk = await visitPage(browser, house.port)
  const phone = await visitPage(browser, house.port)
  await signIn(desk.page, OWNER, OWNER_PASSWORD)
  await phone.page.getByLabel('Name of this device').fill('A phone')
  await signIn(phone.page, OWNER, OWNER_PASSWORD)
  const program = await keyOf(house.port)
  const { body } = await ask(house.port, 'POST', '/register', { as: program, form: { event_types: '["reaction"]' } })
  const poll = ask(house.port, 'GET', '/events', {
    as: program,
    form: { queue_id: body.queue_id, last_event_id: '-1' },
  })

  const { page } = desk
  await openDevices(page)
  await page.getByText('This browser', { exact: true }).waitFor()
  await examineAll(page, 'devices')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('button', { name: 'Revoke A phone' }).click()
  await examineAll(page, 'a device to revoke')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await phone.page.getByText('This session has ended').waitFor()
  await becomes(() => phone.context.cookies(), [])
  await page.getByRole('button', { name: 'Revoke A phone' }).waitFor({ state: 'detached' })

  const programs = page.getByRole('button', { name: /^Revoke test/ })
  const count = await programs.count()
  assert.ok(count >= 2) // that of the house, which was used first, and the new one
  const { api_keys: keys } = (await ask(house.port, 'GET', '/users/me/api_keys', { as: program })).body
  assert.equal(keys.filter(({ device }: { device: string | null }) => device === null).length, count)
  const own = keys.findIndex(({ is_current: isCurrent }: { is_current: boolean }) => isCurrent)
  await ask(house.port, 'DELETE', `/users/me/api_keys/${keys[own].id}`, { as: house.owner })
  // Its poll ends at once, without events; a heartbeat would come after 45 seconds at the earliest.
  assert.deepEqual((await poll).body.events ?? [], [])
  assert.equal((await ask(house.port, 'GET', '/users/me', { as: program })).status, 401)

  await page.getByRole('button', { name: /^Revoke (Chrome|Chromium)/ }).click()
  await page.getByText('You are signed out here.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('You are signed out, and nothing').waitFor()
  await becomes(() => desk.context.cookies(), [])
  await desk.end()
  await phone.end()
})

test(
  'a page of another port of the host reads nothing, changes nothing and takes no event',
  needs('openssl'),
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'coffer-port-'))
    const file = (name: string) => join(directory, name)
    const subject = ['-subj', '/CN=other', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1']
    const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const files = ['-keyout', file('other.key'), '-out', file('other.crt')]
    execFileSync('openssl', ['req', '-x509', ...keyOptions, ...files, ...subject], { stdio: 'ignore' })
    const server = createServer(
      { key: readFileSync(file('other.key')), cert: readFileSync(file('other.crt')) },
      (_, answer) =>
        answer.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title><body>other'),
    ).listen(0, '127.0.0.1')
    t.after(() => {
      server.close()
      server.closeAllConnections()
      rmSync(directory, { recursive: true })
    })
    await once(server, 'listening')
    const here = await visitPage(browser, house.port)
    let queueId = ''
    here.page.on('request', (request) => {
      queueId = new URL(request.url()).searchParams.get('queue_id') ?? queueId
    })
    await signIn(here.page, OWNER, OWNER_PASSWORD)
    while (queueId === '') await here.page.waitForTimeout(50)
    const foreign = await here.context.newPage()
    const answers: string[] = []
    foreign.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (pathname !== '/' || response.request().method() !== 'GET') answers.push(`${response.status()} ${pathname}`)
    })
    await foreign.goto(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const content = 'said by a page of another port'
    const read = await foreign.evaluate(
      async ([chat, to, queue, content]) => {
        const api = `${chat}/api/v1`
        const form = new URLSearchParams({ type: 'stream', to: to!, topic: 'foreign', content: content! })
        const events = `${api}/events?queue_id=${queue}&last_event_id=1000000&dont_block=true`
        const tries: [string, RequestInit][] = [
          [`${api}/users/me`, {}],
          [`${api}/messages`, { method: 'POST', body: form }],
          [`${api}/session`, { method: 'DELETE' }],
          [events, {}],
          [`${api}/users/me/api_keys`, {}],
        ]
        const texts: string[] = []
        for (const [url, options] of tries)
          for (const mode of ['cors', 'no-cors'] as const)
            texts.push(
              await fetch(url, { ...options, mode, credentials: 'include' }).then(
                (answer) => answer.text(),
                () => '',
              ),
            )
        for (const tag of ['img', 'script', 'iframe'] as const) {
          const element = document.createElement(tag)
          element.src = events
          document.body.append(element)
          await new Promise((resolve) => {
            element.onload = element.onerror = resolve
          })
        }
        return texts.join('')
      },
      [here.origin, String(house.channelId), queueId, content],
    )
    assert.equal(read, '')
    // A form of that page, in a window of its own.
    await foreign.evaluate(
      ([chat, to, content]) => {
        const form = document.createElement('form')
        Object.assign(form, { method: 'post', action: `${chat}/api/v1/messages` })
        for (const [name, value] of Object.entries({ type: 'stream', to: to!, topic: 'foreign', content: content! })) {
          const input = document.createElement('input')
          Object.assign(input, { name, value })
          form.append(input)
        }
        document.body.append(form)
        form.submit()
      },
      [here.origin, String(house.channelId), content],
    )
    await foreign.waitForURL(/messages/)
    for (const path of ['/users/me', '/messages', '/events', '/users/me/api_keys'])
      assert.ok(
        answers.some((answer) => answer.endsWith(`/api/v1${path}`)),
        answers.join(),
      )
    for (const answer of answers) assert.match(answer, /^40[13] /)
    assert.deepEqual(await house.saidIn('foreign'), [])
    const { id } = await house.say('foreign', 'said by its owner')
    await here.page
      .getByRole('main')
      .getByRole('link', { name: /foreign/ })
      .waitFor()
    assert.ok(id > 0)
    await here.end()
  },
)

test('drafts, scheduled messages and reminders are in one place, and go from it', async () => {
  const { id } = await house.say('place', 'remember this one')
  const later = { scheduled_delivery_timestamp: 4_000_000_000 }
  await house.post('/scheduled_messages', {
    ...{ type: 'stream', to: house.channelId, topic: 'place', content: 'said in 2096' },
    ...later,
  })
  await house.post('/reminders', { message_id: id, ...later })
  const draft = {
    type: 'stream',
    to: [house.channelId],
    topic: 'place',
    content: 'only begun',
    timestamp: 1_790_000_000,
  }
  await house.post('/drafts', { drafts: [draft] })
  const here = await visitPage(browser, house.port)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page.getByRole('navigation').getByRole('link', { name: 'Drafts' }).click()
  for (const text of ['only begun', 'said in 2096', 'remember this one'])
    await page.getByRole('listitem').filter({ hasText: text }).waitFor()
  await examineAll(page, 'drafts')
  await page.setViewportSize({ width: 1280, height: 860 })
  for (const text of ['only begun', 'said in 2096', 'remember this one']) {
    const row = page.getByRole('listitem').filter({ hasText: text })
    await row.getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
  }
  for (const [path, member] of [
    ['/drafts', 'drafts'],
    ['/scheduled_messages', 'scheduled_messages'],
    ['/reminders', 'reminders'],
  ] as const)
    assert.deepEqual((await ask(house.port, 'GET', path, { as: house.owner })).body[member], [])
  await here.end()
})
