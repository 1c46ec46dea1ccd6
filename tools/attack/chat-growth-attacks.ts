/** Things that members of the chat make until a bound stops them: messages on the disk, channels in an answer. Sections 1.7 and 9.1 of the chat contract. */

import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../firmware/base/defined.ts'
import type { ChatAttack } from './chat-attacks.ts'
import type { TargetPerson } from './chat-target.ts'

const MEMBER = 400
const SENDERS_MAX = 8
const SENDS_OF_ONE = 180 // an account may do 200 calls a minute
const LONG = '€'.repeat(10_000) // the longest text, 60 KB with its HTML
const REFUSALS = 5
const CHECKPOINT_MS = 1500
const DELETIONS_MAX = 90 // with a send for each, of the calls of a minute

const filledByMessages: ChatAttack = {
  name: 'chat: members send long messages until the disk is full, while the appliance signs',
  async run(target) {
    const ids: number[] = []
    const refusals: string[] = []
    let signed = 0
    let tries = 0
    let sender: TargetPerson | undefined
    for (let people = 0; people < SENDERS_MAX && refusals.length < REFUSALS; people++) {
      sender = await target.person(`sender${people}`, MEMBER)
      for (let count = 0; count < SENDS_OF_ONE && refusals.length < REFUSALS; count++, tries++) {
        const values = { type: 'direct', to: [target.owner.id], content: LONG }
        const { status, body } = await target.call('POST', '/messages', { as: sender, values })
        if (status === 200) ids.push(body.id)
        else {
          refusals.push(body.msg)
          await wait(CHECKPOINT_MS) // the log of the database gives room back
        }
        if ((await target.sign()) === 200) signed++
      }
    }
    const read = await target.call('GET', `/messages/${ids.at(-1)}`, { as: defined(sender) })
    const own = { type: 'direct', to: [target.owner.id], content: 'after a deletion' }
    let deletions = 0
    let sent = 400
    for (const id of ids.slice(-DELETIONS_MAX)) {
      const { status } = await target.call('DELETE', `/messages/${id}`, { as: target.owner })
      if (status === 200) deletions++
      sent = (await target.call('POST', '/messages', { as: target.owner, values: own })).status
      if (sent === 200) break
    }
    return {
      held:
        refusals.length === REFUSALS &&
        refusals.every((msg) => msg.startsWith('The disk is full')) &&
        signed === tries &&
        read.status === 200 &&
        deletions > 0 &&
        sent === 200,
      figures: `${ids.length} messages, then "${refusals.at(-1)}", ${signed} of ${tries} signatures, reading ${read.status}, after ${deletions} deletions a send ${sent}`,
    }
  },
}

const CHANNELS_OF_CALL = 50
const CALLS = 12 // 600 channels, of which 500 may be made
const REGISTERS = 4
const REGISTER_BYTES_MAX = 4_000_000

const manyChannels: ChatAttack = {
  name: 'chat: clients register at once after a member made as many channels as possible',
  async run(target) {
    const member = await target.person('founder', MEMBER)
    const answers = []
    for (let call = 0; call < CALLS; call++) {
      const subscriptions = Array.from({ length: CHANNELS_OF_CALL }, (_, n) => ({
        name: `channel ${call}.${n}`,
        description: 'x'.repeat(900),
      }))
      answers.push(await target.call('POST', '/users/me/subscriptions', { as: member, values: { subscriptions } }))
    }
    const made = answers.filter(({ status }) => status === 200).length * CHANNELS_OF_CALL
    const refusal: string = answers.at(-1)?.body.msg ?? ''
    const registers = await Promise.all(
      Array.from({ length: REGISTERS }, () => target.call('POST', '/register', { as: member })),
    )
    const told = registers.map(({ body }) => body.subscriptions?.length ?? 0)
    const bytes = Math.max(...registers.map(({ bytes }) => bytes))
    return {
      held:
        made > 0 &&
        refusal.startsWith('More than ') &&
        registers.every(({ status }) => status === 200) &&
        Math.min(...told) >= made &&
        bytes <= REGISTER_BYTES_MAX,
      figures: `${made} channels, then "${refusal}", ${REGISTERS} registers of ${(bytes / 1e6).toFixed(1)} MB at most`,
    }
  },
}

export const CHAT_GROWTH_ATTACKS: readonly ChatAttack[] = [manyChannels, filledByMessages]
