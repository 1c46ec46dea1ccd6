/**
 * A program that sends, edits, marks and deletes as fast as it can and says what was answered, a line each:
 * `node sender.ts DIRECTORY`. The test kills it.
 */

import { createLog } from '../../../firmware/base/log.ts'
import { createChat } from '../../../firmware/chat/chat.ts'
import { makeKey } from '../../../firmware/chat/realm/keys.ts'
import { CHAT_KEY, NO_LIMITS } from '../support/chat.ts'

const chat = createChat({
  directory: process.argv[2]!,
  chatKey: CHAT_KEY,
  log: createLog('error', () => {}),
  derive: async () => new Uint8Array(32),
  rateLimits: NO_LIMITS,
})
const { realm } = chat
const user = [...realm.state.user.all()].find(({ bot }) => bot === null)!
const channel = [...realm.state.channel.all()][0]!
const key = realm.change((turn) => makeKey(realm, turn, user, 'sender'))
const authorization = `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`

async function call(method: string, path: string, values: Record<string, string> = {}): Promise<{ id: number }> {
  const init = { method, headers: { authorization }, body: new URLSearchParams(values) }
  const response = await chat.api.request(`http://chat.example/api/v1${path}`, init)
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as { id: number }
}

const say = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`)

say({ ready: true })
for (let turn = 0; ; turn++) {
  const content = `${process.pid} ${turn}`
  const { id } = await call('POST', '/messages', {
    type: 'channel',
    to: String(channel.id),
    topic: `t${turn % 7}`,
    content,
  })
  say({ sent: id, content })
  if (turn % 3 === 0) {
    await call('POST', '/messages/flags', { messages: `[${id}]`, op: 'add', flag: 'starred' })
    say({ starred: id })
  }
  if (turn % 4 === 0) {
    const edited = `${content} edited`
    say({ editing: id, content: edited })
    await call('PATCH', `/messages/${id}`, { content: edited })
    say({ edited: id, content: edited })
  }
  if (turn % 5 === 0) {
    say({ deleting: id })
    await call('DELETE', `/messages/${id}`)
    say({ deleted: id })
  }
}
