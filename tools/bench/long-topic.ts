/**
 * A chat and its page over TLS, with a topic of many messages of all kinds: texts, code, quotes, pictures, spoilers, formulas. Another
 * topic, `still`, has as many as a browser loads at once.
 * `node tools/bench/long-topic.ts DIRECTORY MESSAGES PAGE`; PAGE is `chat-page.bin` of a build. It prints the address of each topic
 * and the ids of its first and newest message, then its port, and ends with its standard input.
 */

import { pathToFileURL } from 'node:url'
import { defined } from '../../firmware/base/defined.ts'
import type { Chat } from '../../firmware/chat/process/chat.ts'
import { ensureTopic } from '../../firmware/chat/realm/messages/location.ts'
import type { User } from '../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../firmware/chat/realm/model/roles.ts'
import { makeKey } from '../../firmware/chat/realm/objects/keys.ts'
import { addUser } from '../../firmware/chat/realm/organization/users/change.ts'
import { OWNER, OWNER_PASSWORD, openChat, serveChat } from './chat-serve.ts'
import { createTexts, type Texts } from './chat-words.ts'

const SENDERS = 4
const STILL_MESSAGES = 290 // as many as a browser loads at once
const KINDS_OF_EACH = 4
const PICTURES = [
  [640, 400],
  [300, 900],
  [90, 30],
  [1600, 1200],
] as const
const SPEECH_MAX = 4 // messages of one sender in a row
const PAUSE_S_MAX = 1200
const START_S = 1_700_000_000

const [directory, messages, page] = [process.argv[2], Number(process.argv[3]), process.argv[4]]
const opened = openChat(defined(directory))
await fill(opened.chat, messages)
await serveChat(opened, pathToFileURL(defined(page)))

async function fill(chat: Chat, count: number): Promise<void> {
  const { realm } = chat
  const owner = await chat.createOrganization({ name: 'Long lists', url: '', owner: OWNER }, OWNER_PASSWORD)
  const [people, key] = realm.transaction((turn): [User[], string] => [
    Array.from({ length: SENDERS }, (_, n) =>
      addUser(realm, turn, { email: `u${n}@example.org`, fullName: `User ${n}`, role: ROLES.member }),
    ),
    makeKey(realm, turn, owner, 'bench'),
  ])
  const ask = createAsk(chat, `Basic ${Buffer.from(`${OWNER.email}:${key}`).toString('base64')}`)
  await ask('POST', '/users/me/subscriptions', { subscriptions: '[{"name":"ops"}]' })
  const channel = defined([...realm.state.channel.all()].find(({ name }) => name === 'ops'))
  const texts = createTexts(1)
  const kinds: { content: string; html: string }[] = []
  for (const content of contents(texts, await uploadPictures(ask))) {
    const { id } = await ask('POST', '/messages', { type: 'stream', to: String(channel.id), topic: 'kinds', content })
    const { message } = await ask('GET', `/messages/${id}`)
    kinds.push({ content, html: message.content })
  }
  let [time, sender, left] = [START_S, 0, 0]
  const fillTopic = (name: string, count: number) => {
    const topic = ensureTopic(realm, channel, name)
    return Array.from({ length: count }, (_, n) => {
      if (left-- === 0) [sender, left] = [texts.below(SENDERS), texts.below(SPEECH_MAX)]
      time += texts.below(PAUSE_S_MAX)
      const { content, html } = defined(kinds[texts.below(kinds.length)])
      return realm.store.messages.add({
        ...{ sender: defined(people[sender]).id, recipient: channel.recipientId, topic, time, bits: 0 },
        ...{ birth: channel.recipientId, ordinal: realm.store.messages.nextOrdinal(channel.recipientId) },
        ...{ client: 'bench', content: `${n}\n\n${content}`, html: `<p>${n}</p>\n${html}`, extra: '{}' },
      })
    })
  }
  const still = realm.transaction(() => fillTopic('still', STILL_MESSAGES))
  const long = realm.transaction(() => fillTopic('long', count))
  await ask('POST', '/mark_all_as_read')
  for (const [name, ids] of Object.entries({ long, still }))
    console.log(`#narrow/channel/${channel.id}-ops/topic/${name} from ${ids[0]} to ${ids.at(-1)}`)
}

type Ask = ReturnType<typeof createAsk>

function createAsk(chat: Chat, authorization: string) {
  // biome-ignore lint/suspicious/noExplicitAny: members of any answer
  return async (method: string, path: string, form: Record<string, string> | FormData = {}): Promise<any> => {
    const body = method === 'GET' ? {} : { body: form instanceof FormData ? form : new URLSearchParams(form) }
    const headers = { host: 'chat.example', authorization, 'user-agent': 'bench/1.0' }
    const response = await chat.api.request(`http://chat.example/api/v1${path}`, { method, headers, ...body })
    const answer = await response.json()
    if (response.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }
}

async function uploadPictures(ask: Ask): Promise<string[]> {
  const links: string[] = []
  for (const [width, height] of PICTURES) {
    const form = new FormData()
    form.append('file', new Blob([gif(width, height)]), `${width}x${height}.gif`)
    const { url, filename } = await ask('POST', '/user_uploads', form)
    links.push(`[${filename}](${url})`)
  }
  return links
}

/** A picture of that size whose only frame has one pixel. GIF89a, sections 17 to 27. */
function gif(width: number, height: number): Uint8Array<ArrayBuffer> {
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  const rest = '800000 808080404040 2c00000000010001 0000 02024401 00 3b'.replaceAll(' ', '')
  return Uint8Array.from(Buffer.concat([Buffer.from('GIF89a'), size, Buffer.from(rest, 'hex')]))
}

function contents(texts: Texts, pictures: readonly string[]): string[] {
  const lines = (count: number, prefix = '') =>
    Array.from({ length: count }, () => prefix + texts.text(1 + texts.below(9))).join('\n')
  const makers: ((n: number) => string)[] = [
    () => texts.text(2),
    (n) => texts.text(4 + 2 * n),
    (n) => texts.text(12 + 12 * n),
    (n) => lines(1 + n),
    (n) => Array.from({ length: 1 + n }, () => texts.text(15)).join('\n\n'),
    (n) => `\`\`\`python\n${lines(1 + 3 * n)}\n\`\`\``,
    (n) => `\`\`\`quote\n${lines(1 + n)}\n\`\`\`\n${texts.text(9)}`,
    (n) => `\`\`\`spoiler ${texts.word()}\n${lines(3 + n)}\n\`\`\``,
    (n) => `\`\`\`math\n\\int_0^{${n}} \\frac{x^2}{\\sqrt{1 + x}} dx = \\sum_{k=0}^{n} a_k\n\`\`\``,
    (n) => `${texts.text(9)} $$e^{i \\pi} + ${n} = \\frac{a}{b}$$ ${texts.text(9)}`,
    (n) => lines(1 + n, '* '),
    (n) => `| a | b |\n|---|---|\n${lines(1 + n, '| ').replaceAll('\n', ' | x |\n')} | x |`,
    (n) => `:tada: :octopus: ${texts.text(n)} **${texts.text(4)}** \`${texts.word()}\` @**Owner**`,
    (n) => `${texts.text(5)} ${pictures[n % pictures.length]}`,
  ]
  return makers.flatMap((make) => Array.from({ length: KINDS_OF_EACH }, (_, n) => make(n)))
}
