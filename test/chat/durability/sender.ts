/**
 * A program that sends, edits, moves, marks, uploads and deletes as fast as it can and says what was answered, a line each:
 * `node sender.ts DIRECTORY`. The test kills it.
 */

import { createLog } from '../../../firmware/base/log.ts'
import { createChat } from '../../../firmware/chat/process/chat.ts'
import type { User } from '../../../firmware/chat/realm/model/records.ts'
import { keysOf, makeKey, revokeKey } from '../../../firmware/chat/realm/objects/keys.ts'
import { CHAT_KEY, NO_LIMITS } from '../support/chat.ts'
import { contentOf, type Line } from './ledger.ts'

const chat = createChat({
  directory: process.argv[2]!,
  chatKey: CHAT_KEY,
  log: createLog('error', () => {}),
  derive: async () => new Uint8Array(32),
  rateLimits: NO_LIMITS,
})
const { realm } = chat
const [owner, reader] = [...realm.state.user.all()].filter(({ bot }) => bot === null).map(clientOf)
const channel = [...realm.state.channel.all()][0]!

type Answer = Record<string, never>

function clientOf(user: User) {
  for (const { id, client } of keysOf(realm, user)) if (client === 'sender') revokeKey(realm, user, id)
  const key = realm.transaction((tx) => makeKey(realm, tx, user, 'sender')) // the one of the run before is done with
  const authorization = `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`
  return async (method: string, path: string, values: Record<string, string | Blob> = {}): Promise<Answer> => {
    const form = new FormData()
    for (const [name, value] of Object.entries(values)) form.append(name, value)
    const init = { method, headers: { authorization }, ...(method !== 'GET' && { body: form }) }
    const response = await chat.api.request(`http://chat.example/api/v1${path}`, init)
    if (response.status !== 200) throw new Error(await response.text())
    return (await response.json()) as Answer
  }
}

const SILENTLY = { send_notification_to_old_thread: 'false', send_notification_to_new_thread: 'false' }

const SAID = ['herring', 'tea', 'teapot', '日本語'] as const

const say = (what: Line): void => void process.stdout.write(`${JSON.stringify(what)}\n`)

async function send(content: string, topic: string): Promise<number> {
  const message = { type: 'channel', to: String(channel.id), topic, content }
  const { id } = await owner!('POST', '/messages', message)
  say({ did: 'sent', id: id!, content })
  return id!
}

async function upload(turn: number): Promise<void> {
  const name = `${process.pid}-${turn}`
  const { url } = await owner!('POST', '/user_uploads', { file: new File([contentOf(name)], name) })
  const path = String(url).replace('/user_uploads/', '')
  say({ did: 'uploaded', path, name })
  await send(`[a file](${url})`, 'files')
  if (turn % 2 === 0) return
  const { attachments } = await owner!('GET', '/attachments')
  const { id } = (attachments! as { id: number; path_id: string }[]).find(({ path_id }) => path_id === path)!
  say({ did: 'removing', path })
  await owner!('DELETE', `/attachments/${id}`)
  say({ did: 'removed', path })
}

say({ did: 'start' })
for (let turn = 0; ; turn++) {
  const content = `${process.pid} ${turn} ${SAID[turn % SAID.length]}`
  const id = await send(content, `t${turn % 7}`)
  const messages = JSON.stringify([id])
  if (turn % 3 === 0) {
    await owner!('POST', '/messages/flags', { messages, op: 'add', flag: 'starred' })
    say({ did: 'starred', id })
  }
  if (turn % 3 === 1) {
    await reader!('POST', '/messages/flags', { messages, op: 'add', flag: 'read' })
    say({ did: 'read', id })
  }
  if (turn % 4 === 0) {
    const edited = `${process.pid} ${turn} edited`
    say({ did: 'editing', id, content: edited })
    await owner!('PATCH', `/messages/${id}`, { content: edited })
    say({ did: 'edited', id, content: edited })
  }
  if (turn % 5 === 2) await upload(turn)
  if (turn % 6 === 1) {
    const propagate_mode = turn % 4 === 1 ? 'change_all' : 'change_one'
    await owner!('PATCH', `/messages/${id}`, { topic: `tea ${turn % 11}`, propagate_mode, ...SILENTLY })
  }
  if (turn % 5 === 0) {
    say({ did: 'deleting', id })
    await owner!('DELETE', `/messages/${id}`)
    say({ did: 'deleted', id })
  }
}
