/** Sums that members and guests of the chat try to make: bytes on the disk, in an answer, and of work. Contract sections 1.7, 5.1 and 9 of the chat. */

import { defined } from '../../firmware/base/defined.ts'
import type { ChatAttack } from './chat-attacks.ts'
import { type ChatTarget, type TargetPerson, UPLOAD_QUOTA_MIB } from './chat-target.ts'

const [MEMBER, GUEST] = [400, 600]
const MIB = 1024 * 1024
const FILE_BYTES = MIB / 2

const filledDisk: ChatAttack = {
  name: 'chat: a guest uploads until the quota is full, while the appliance signs',
  async run(target) {
    const guest = await target.person('hoarder', GUEST)
    const file = new Uint8Array(FILE_BYTES).fill(1)
    const codes: string[] = []
    let signed = 0
    let tries = 0
    for (; codes.length < 3 && tries < (3 * UPLOAD_QUOTA_MIB * MIB) / FILE_BYTES; tries++) {
      const { status, body } = await target.call('POST', '/user_uploads', { as: guest, file })
      if (status !== 200) codes.push(body.code)
      if ((await target.sign()) === 200) signed++
    }
    const usedBytes = async () => (await target.call('GET', '/attachments', { as: guest })).body.upload_space_used
    const fullBytes: number = await usedBytes()
    const [{ id }] = (await target.call('GET', '/attachments', { as: guest })).body.attachments
    const deletion = await target.call('DELETE', `/attachments/${id}`, { as: guest })
    const again = await target.call('POST', '/user_uploads', { as: guest, file })
    return {
      held:
        codes.join() === 'REALM_UPLOAD_QUOTA,REALM_UPLOAD_QUOTA,REALM_UPLOAD_QUOTA' &&
        fullBytes > 0 &&
        fullBytes <= UPLOAD_QUOTA_MIB * MIB &&
        signed === tries &&
        deletion.status === 200 &&
        again.status === 200,
      figures: `${(fullBytes / MIB).toFixed(1)} of ${UPLOAD_QUOTA_MIB} MiB taken, ${signed} of ${tries} signatures, a deletion ${deletion.status}, then an upload ${again.status}`,
    }
  },
}

const PARTICIPANTS = 95
const MESSAGES = 800 // of 13 KB each with the participants
const ANSWER_BYTES_MAX = 8_001_000 // contract section 5.1, and what stands around the messages

const largeAnswers: ChatAttack = {
  name: 'chat: four readers at once ask for all messages of a conversation of many people',
  async run(target) {
    const member = await target.person('multiplier', MEMBER)
    target.converse(member, PARTICIPANTS, MESSAGES)
    const values = { anchor: 'newest', num_before: 5000, num_after: 0 }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => target.call('GET', '/messages', { as: member, values })),
    )
    const counts = answers.map(({ body }) => body.messages?.length ?? 0)
    const bytes = Math.max(...answers.map(({ bytes }) => bytes))
    return {
      held:
        answers.every(({ status, body }) => status === 200 && body.found_oldest === false) &&
        Math.min(...counts) > 0 &&
        bytes <= ANSWER_BYTES_MAX,
      figures: `${counts.join(' ')} of ${MESSAGES} messages, ${(bytes / 1e6).toFixed(1)} MB at most`,
    }
  },
}

const EDITS = 100
const WORDS = 900 // of a text and of what it was: a table of 810,000 cells for each edit
const LONGER_MAX = 40 // some 12 for what is written; where the table is made for each edit, over 80
const READINGS = 3 // the fastest counts

const manyEdits: ChatAttack = {
  name: 'chat: the history of a message with many edits, while another member waits',
  async run(target) {
    const guest = await target.person('reviser', GUEST)
    const other = await target.person('bystander', MEMBER)
    const [few, many] = [await editedMessage(target, guest, 1), await editedMessage(target, guest, EDITS)]
    const short = await fastestHistory(target, guest, few, other)
    const long = await fastestHistory(target, guest, many, other)
    return {
      held: short.edits === 1 && long.edits === EDITS && long.ms < LONGER_MAX * short.ms,
      figures: `1 edit ${short.ms.toFixed(0)} ms, ${EDITS} edits ${long.ms.toFixed(0)} ms, the other waited ${long.waitedMs.toFixed(0)} ms at most`,
    }
  },
}

/** A message of the author to themselves. Each version has other words than the one before. */
async function editedMessage(target: ChatTarget, author: TargetPerson, edits: number): Promise<number> {
  const version = (number: number) => Array.from({ length: WORDS }, (_, word) => `${number}v${word}`).join(' ')
  const values = { type: 'direct', to: [author.id], content: version(0) }
  const { id } = (await target.call('POST', '/messages', { as: author, values })).body
  for (let number = 1; number <= edits; number++)
    await target.call('PATCH', `/messages/${id}`, { as: author, values: { content: version(number) } })
  return id
}

async function fastestHistory(target: ChatTarget, reader: TargetPerson, id: number, other: TargetPerson) {
  const readings = []
  for (let count = 0; count < READINGS; count++) readings.push(await readHistory(target, reader, id, other))
  return defined(readings.sort((a, b) => a.ms - b.ms)[0])
}

async function readHistory(target: ChatTarget, reader: TargetPerson, id: number, other: TargetPerson) {
  const startedMs = performance.now()
  let isDone = false
  const asked = target.call('GET', `/messages/${id}/history`, { as: reader }).finally(() => {
    isDone = true
  })
  let waitedMs = 0
  while (!isDone) {
    const askedMs = performance.now()
    await target.call('GET', '/users/me', { as: other })
    waitedMs = Math.max(waitedMs, performance.now() - askedMs)
  }
  const edits: number = ((await asked).body.message_history?.length ?? 0) - 1
  return { edits, ms: performance.now() - startedMs, waitedMs }
}

export const CHAT_SUM_ATTACKS: readonly ChatAttack[] = [filledDisk, largeAnswers, manyEdits]
