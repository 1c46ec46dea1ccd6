// @test short slow
/** Moves of every kind against a plain model, which looks at each message and each reader by itself. Contract 3.2.2, 7.3, V51. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CAPABILITIES } from '../../../../firmware/chat/events/shapes.ts'
import { ROLES } from '../../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../../firmware/chat/realm/model/state.ts'
import { ModelClient } from '../../model/client.ts'
import { Random } from '../../model/operations.ts'
import { type Client, openTestChat } from '../../support/chat.ts'

const OPERATIONS = process.env.COFFER_SLOW === undefined ? 150 : 1500
const BETWEEN_CHECKS = 15
const SEEDS = process.env.COFFER_SEED === undefined ? [1, 2] : [Number(process.env.COFFER_SEED)]
const TOPICS = ['lunch', 'Lunch', 'dinner', '✔ lunch', '✔ dinner', 'https://example.com', '']
const EVERYTHING = Object.fromEntries(CAPABILITIES.map((name) => [name, true]))

interface Channel {
  id: number
  /** Only those who were subscribed when a message was sent or moved there read it. */
  isProtected: boolean
  subscribers: Set<Client>
}

interface Mark {
  isReceived: boolean
  isHistorical: boolean
  isRead: boolean
  isStarred: boolean
}

interface Message {
  id: number
  sender: Client | null
  content: string
  html: string
  channel: Channel
  /** Who was subscribed when it was moved to a protected channel; null where it was not. */
  readers: ReadonlySet<Client> | null
  topic: string
  edits: object[]
  moved: number | undefined
  edited: number | undefined
  marks: Map<Client, Mark>
}

for (const seed of SEEDS)
  test(`messages, their history and what their readers marked come through moves; seed ${seed}`, async () => {
    const rig = await openTestChat()
    try {
      const random = new Random(seed)
      const [late, member, bystander] = [
        rig.account('late', ROLES.moderator),
        rig.account('member'),
        rig.account('bystander'),
      ]
      const clients = [rig.owner, late, member, bystander]
      for (const client of clients) await client.patch('/settings', { resolved_topic_notice_auto_read_policy: 'never' })
      rig.chat.realm.transaction((turn) => {
        const organization = organizationOf(rig.chat.realm.state)
        turn.put('organization', {
          ...organization,
          settings: { ...organization.settings, message_content_edit_limit_seconds: null },
        })
      })
      const make = (name: string, subscribers: Client[], isProtected = false): Channel => ({
        id: rig.channel(name, subscribers, isProtected ? { isPrivate: true, historyPublicToSubscribers: false } : {})
          .id,
        isProtected,
        subscribers: new Set(subscribers),
      })
      const secret = make('secret', [rig.owner, member], true)
      const cellar = make('cellar', [rig.owner, late], true)
      const channels = [make('all', clients), make('some', [rig.owner, late]), secret, cellar]
      const messages: Message[] = []
      const log: string[] = []
      const watched = await Promise.all(clients.map((client) => watch(client)))

      const now = () => Math.floor(rig.now() / 1000)
      const inTopic = (channel: Channel, topic: string): Message[] =>
        messages.filter((one) => one.channel === channel && one.topic.toLowerCase() === topic.toLowerCase())

      const reads = (client: Client, { marks, channel, readers }: Message): boolean =>
        !channel.isProtected ||
        (channel.subscribers.has(client) && (readers?.has(client) ?? marks.get(client)!.isReceived))

      for (let count = 1; count <= OPERATIONS; count++) {
        rig.advance(61)
        await operate()
        if (count === OPERATIONS / 3) await join()
        if (count % BETWEEN_CHECKS === 0) await check()
      }

      async function operate(): Promise<void> {
        if (messages.length < 8 || (messages.length < 30 && random.chance(0.25))) return send()
        if (random.chance(0.5)) return move(random.of([rig.owner, rig.owner, late]))
        if (random.chance(0.25)) return edit()
        return mark()
      }

      async function send(): Promise<void> {
        const channel = random.of(channels)
        const sender = random.of([...channel.subscribers])
        const topic = random.of(TOPICS)
        const content = `message ${messages.length}`
        const { id } = await sender.post('/messages', {
          type: 'channel',
          to: channel.id,
          topic,
          content,
          read_by_sender: true,
        })
        arrive(id, sender, content, channel, topic)
      }

      function arrive(id: number, sender: Client | null, content: string, channel: Channel, topic: string): void {
        const marks = new Map(
          clients.map((client) => [
            client,
            {
              isReceived: channel.subscribers.has(client),
              isHistorical: false,
              isRead: client === sender || !channel.subscribers.has(client),
              isStarred: false,
            },
          ]),
        )
        const html = `<p>${content}</p>`
        const known = inTopic(channel, topic)[0]?.topic ?? topic
        messages.push({
          id,
          sender,
          content,
          html,
          channel,
          readers: null,
          topic: known,
          edits: [],
          moved: undefined,
          edited: undefined,
          marks,
        })
      }

      async function move(mover: Client): Promise<void> {
        const target = random.of(messages)
        const channel = random.chance(0.4) ? random.of(channels) : target.channel
        const topic = random.chance(0.3) ? otherwiseResolved(target.topic) : random.of(TOPICS)
        const mode = random.of(['change_one', 'change_later', 'change_all', 'change_all'])
        const { status } = await mover.call('PATCH', `/messages/${target.id}`, {
          topic,
          stream_id: channel.id,
          propagate_mode: mode,
          send_notification_to_new_thread: false,
        })
        log.push(`${target.id} ${mode} to ${channel.id} ${topic} by ${mover.user.fullName}: ${status}`)
        if (status !== 200) return
        const moved = inTopic(target.channel, target.topic)
          .filter(({ id }) => mode === 'change_all' || id === target.id || (mode === 'change_later' && id > target.id))
          .filter((one) => reads(mover, one))
        await place(moved, channel, topic, mover)
      }

      async function place(moved: Message[], channel: Channel, topic: string, mover: Client): Promise<void> {
        const [{ channel: from, topic: prev }] = moved as [Message]
        const isBetween = channel !== from
        const bare = (name: string) => name.replace(/^(?:✔ )+/, '')
        const isResolving = !isBetween && prev.startsWith('✔ ') !== topic.startsWith('✔ ') && bare(prev) === bare(topic)
        const known = inTopic(channel, topic)[0]?.topic
        const isCaseOnly = !isBetween && prev.toLowerCase() === topic.toLowerCase()
        for (const message of moved) {
          const had = clients.filter(
            (client) =>
              reads(client, message) && (from.subscribers.has(client) || message.marks.get(client)!.isReceived),
          )
          message.edits.unshift({
            timestamp: now(),
            user_id: mover.user.id,
            ...(topic !== prev && { prev_topic: prev, topic }),
            ...(isBetween && { prev_stream: from.id, stream: channel.id }),
          })
          if (!isResolving) message.moved = now()
          message.channel = channel
          if (!isCaseOnly) message.topic = known ?? topic
          if (!isBetween) continue
          message.readers = channel.isProtected ? new Set(channel.subscribers) : null
          for (const client of clients) {
            const mark = message.marks.get(client)!
            if (!reads(client, message)) {
              if (had.includes(client)) Object.assign(mark, { isRead: true, isStarred: false })
            } else if (mark.isReceived && !channel.subscribers.has(client)) mark.isRead = true
          }
        }
        if (isCaseOnly) for (const message of inTopic(channel, topic)) message.topic = topic
        if (isResolving) {
          const { messages: newest } = await rig.owner.get('/messages', {
            anchor: 'newest',
            num_before: 1,
            num_after: 0,
            apply_markdown: false,
          })
          arrive(newest[0].id, null, newest[0].content, channel, topic)
        }
      }

      async function edit(): Promise<void> {
        const message = random.of(messages)
        const { sender } = message
        if (sender === null || sender === bystander || sender === member || !reads(sender, message)) return
        const content = `${message.content}!`
        const topic = random.chance(0.5) ? random.of(TOPICS) : message.topic
        const { status } = await sender.call('PATCH', `/messages/${message.id}`, {
          content,
          topic,
          send_notification_to_new_thread: false,
        })
        log.push(`${message.id} edited, to ${topic}: ${status}`)
        if (status !== 200) return
        const { content: prev_content, html: prev_rendered_content } = message
        Object.assign(message, { content, html: `<p>${content}</p>`, edited: now() })
        const entry = { timestamp: now(), user_id: sender.user.id, prev_content, prev_rendered_content }
        if (topic === message.topic) message.edits.unshift(entry)
        else {
          await place([message], message.channel, topic, sender)
          message.edits[0] = { ...entry, ...message.edits[0] }
        }
      }

      async function mark(): Promise<void> {
        const client = random.of(clients)
        const [flag, op] = [random.of(['read', 'starred']), random.of(['add', 'remove'])]
        const readable = messages.filter((one) => reads(client, one))
        const chosen = random.some(readable)
        if (chosen.length === 0) return
        await client.post('/messages/flags', { messages: chosen.map(({ id }) => id), op, flag })
        log.push(`${client.user.fullName} ${op} ${flag} ${chosen.map(({ id }) => id)}`)
        for (const message of chosen) {
          const mark = message.marks.get(client)!
          if (flag === 'read' && op === 'remove' && !message.channel.subscribers.has(client)) continue
          const isIn = flag === 'read' ? mark.isRead || !mark.isReceived : mark.isStarred
          if (isIn === (op === 'add')) continue
          if (!mark.isReceived) Object.assign(mark, { isReceived: true, isHistorical: true, isRead: true })
          if (flag === 'read') mark.isRead = op === 'add'
          else mark.isStarred = op === 'add'
        }
      }

      async function join(): Promise<void> {
        await rig.owner.post('/users/me/subscriptions', {
          subscriptions: [{ name: 'secret' }],
          principals: [late.user.id],
          send_new_subscription_messages: false,
        })
        secret.subscribers.add(late)
      }

      async function check(): Promise<void> {
        const last = log.slice(-BETWEEN_CHECKS).join('\n')
        for (const client of clients)
          for (const one of messages) {
            const { status, body } = await client.call('GET', `/messages/${one.id}`, { allow_empty_topic_name: true })
            assert.equal(status === 200, reads(client, one), `${client.user.fullName} reads ${one.id}\n${last}`)
            if (status !== 200) continue
            const { message } = body
            assert.deepEqual(
              {
                channel: message.stream_id,
                topic: message.subject,
                edits: message.edit_history ?? [],
                moved: message.last_moved_timestamp,
                edited: message.last_edit_timestamp,
                links: message.topic_links.length,
                flags: [...message.flags].sort(),
              },
              {
                channel: one.channel.id,
                topic: one.topic,
                edits: one.edits,
                moved: one.moved,
                edited: one.edited,
                links: one.topic.includes('https:') ? 1 : 0,
                flags: flagsOf(one.marks.get(client)!),
              },
              `message ${one.id} for ${client.user.fullName}, after\n${last}`,
            )
          }
        for (const one of watched)
          assert.deepEqual(await one.differences(), [], `what events told ${one.client.user.fullName}, after\n${last}`)
      }
    } finally {
      rig.close()
    }
  })

test('a topic that is resolved or renamed is written to once, and none of its messages', async () => {
  const rig = await openTestChat()
  try {
    const { realm } = rig.chat
    const channel = rig.channel('all', [rig.owner])
    const ids: number[] = []
    for (const content of ['one', 'two', 'three'])
      ids.push((await rig.owner.post('/messages', { type: 'channel', to: channel.id, topic: 'lunch', content })).id)
    const rows = () => ids.map((id) => realm.store.messages.get(id))
    const before = rows()
    for (const topic of ['✔ lunch', 'lunch', 'dinner'])
      await rig.owner.patch(`/messages/${ids[1]}`, { topic, propagate_mode: 'change_all' })
    assert.deepEqual(rows(), before)
    const { id } = await rig.owner.post('/messages', {
      type: 'channel',
      to: channel.id,
      topic: 'dinner',
      content: 'four',
    })
    const historyOf = async (id: number) => (await rig.owner.get(`/messages/${id}/history`)).message_history
    assert.deepEqual(
      (await historyOf(ids[2]!)).map(({ topic }: { topic: string }) => topic),
      ['lunch', '✔ lunch', 'lunch', 'dinner'],
    )
    assert.equal((await historyOf(id)).length, 1, 'nothing befell what came later')
    await rig.owner.patch(`/messages/${ids[0]}`, { topic: 'supper', send_notification_to_new_thread: false })
    await rig.owner.patch(`/messages/${ids[0]}`, { topic: 'dinner', send_notification_to_new_thread: false })
    assert.equal((await historyOf(ids[0]!)).length, 6, 'what befell it comes along, and is not said twice')
  } finally {
    rig.close()
  }
})

const otherwiseResolved = (topic: string): string => (topic.startsWith('✔ ') ? topic.slice(2) : `✔ ${topic}`.trim())

const flagsOf = ({ isReceived, isHistorical, isRead, isStarred }: Mark): string[] =>
  isReceived
    ? [...(isHistorical ? ['historical'] : []), ...(isRead ? ['read'] : []), ...(isStarred ? ['starred'] : [])]
    : ['historical', 'read']

/** A client that began before everything: what it was told by events is what it would be told anew. */
async function watch(client: Client) {
  const ask = () => client.register({ client_capabilities: EVERYTHING, include_subscribers: true, slim_presence: true })
  const queue = await ask()
  const model = new ModelClient(queue.snapshot, EVERYTHING)
  return {
    client,
    async differences(): Promise<string[]> {
      for (const event of await queue.events()) model.apply(event)
      return model.differences((await ask()).snapshot)
    },
  }
}
