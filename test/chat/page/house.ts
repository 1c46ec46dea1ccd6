/** An organization with a channel on a whole Coffer, for the browser: the bundle and the processes as shipped. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { launchBrowser } from '../../console/browser.ts'
import { provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, startCoffer } from '../../support/process.ts'
import { type Account, ask, askUntil, chatPid, ended, keyOf, makeOrganization, reach } from '../support/process.ts'

export interface House {
  readonly coffer: Coffer
  readonly port: number
  readonly owner: Account
  readonly channelId: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  post(path: string, values: Record<string, unknown>, as?: Account): Promise<any>
  say(topic: string, content: string, as?: Account): Promise<{ id: number }>
  saidIn(topic: string): Promise<string[]>
  /** Resolves once another process has taken its place. */
  killChat(): Promise<void>
}

type Furnish = (house: House) => Promise<void>

/** A browser and a house for the tests of a file. */
export async function openHouse(furnish?: Furnish) {
  const browser = await launchBrowser()
  after(() => browser.close())
  return { browser, house: startHouse(furnish) }
}

/** A house for the tests of a file. `furnish` runs once it has started. */
export function startHouse(furnish: Furnish = async () => {}): House {
  const house = createHouse()
  before(async () => {
    await house.start()
    await furnish(house)
  })
  after(() => house.stop())
  return house
}

interface OwnedHouse extends House {
  start(): Promise<void>
  stop(): Promise<void>
}

function createHouse(): OwnedHouse {
  const data = mkdtempSync(join(tmpdir(), 'coffer-chat-page-'))
  const stops: (() => unknown)[] = []
  let coffer: Coffer
  let port: number
  let owner: Account
  let channelId: number
  const house: OwnedHouse = {
    get coffer() {
      return coffer
    },
    get port() {
      return port
    },
    get owner() {
      return owner
    },
    get channelId() {
      return channelId
    },
    async start() {
      const program = await buildForTests()
      const life = { after: (stop: () => unknown) => void stops.push(stop) } as never
      coffer = startCoffer(life, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
      await coffer.target()
      await provision(coffer)
      await makeOrganization(coffer)
      port = (await reach(coffer, 'running')).port!
      owner = await keyOf(port)
      await house.post('/users/me/subscriptions', {
        subscriptions: [{ name: 'ops', description: 'Servers and drills' }],
      })
      const { body } = await ask(port, 'GET', '/users/me/subscriptions', { as: owner })
      channelId = body.subscriptions.find(({ name }: { name: string }) => name === 'ops').stream_id
    },
    async stop() {
      for (const stop of stops) await stop()
      rmSync(data, { recursive: true, force: true })
    },
    async post(path, values, as = owner) {
      const form = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      )
      const { status, body } = await ask(port, 'POST', path, { as, form })
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
      return body
    },
    say: (topic, content, as) => house.post('/messages', { type: 'stream', to: channelId, topic, content }, as),
    async saidIn(topic) {
      const narrow = [
        { operator: 'channel', operand: channelId },
        { operator: 'topic', operand: topic },
      ]
      const form = { anchor: 'newest', num_before: '200', num_after: '0', narrow: JSON.stringify(narrow) }
      const { status, body } = await askUntil(({ status }) => status === 200, port, 'GET', '/messages', {
        as: owner,
        form: { ...form, apply_markdown: 'false' },
      })
      assert.equal(status, 200)
      return body.messages.map(({ content }: { content: string }) => content)
    },
    async killChat() {
      const pid = await chatPid(coffer)
      process.kill(pid, 'SIGKILL')
      await ended(coffer, pid)
      await askUntil(({ status }) => status === 200, port, 'GET', '/users/me', { as: owner })
    },
  }
  return house
}
