/** A day in short: all that people write and upload, some of it removed again. */

import type { TestChat } from '../support/chat.ts'

export const SECRETS = {
  channel: 'Elsinore battlements',
  topic: 'something is rotten',
  content: 'The time is out of joint, o cursed spite',
  edited: 'That ever I was born to set it right',
  direct: 'Neither a borrower nor a lender be',
  group: 'Brevity is the soul of wit, my lords',
  file: 'What a piece of work is a man, how noble in reason',
  fileName: 'quintessence-of-dust.txt',
}

const FILES = 4
const FILE_BYTES = 100_000 // two chunks

export async function aDay(rig: TestChat): Promise<void> {
  const hamlet = rig.account('ophelia-of-denmark')
  const channel = rig.channel(SECRETS.channel, [rig.owner, hamlet])
  const message = { type: 'channel', to: channel.id, topic: SECRETS.topic }
  for (let file = 0; file < FILES; file++) {
    const { body } = await rig.owner.upload('POST', '/user_uploads', fileOf(file), {}, SECRETS.fileName)
    await rig.owner.post('/messages', { ...message, content: `[${SECRETS.file}](${body.url})` })
    const { attachments } = await rig.owner.get('/attachments')
    if (file % 2 === 0) await rig.owner.delete(`/attachments/${attachments[0].id}`)
  }
  for (let turn = 0; turn < 60; turn++) {
    const { id } = await rig.owner.post('/messages', { ...message, content: `${SECRETS.content} ${turn}` })
    if (turn % 3 === 0) await rig.owner.patch(`/messages/${id}`, { content: `${SECRETS.edited} ${turn}` })
    if (turn % 5 === 0) await rig.owner.delete(`/messages/${id}`)
  }
  await rig.owner.post('/messages', { type: 'direct', to: [hamlet.user.id], content: SECRETS.direct })
  await hamlet.post('/messages', { type: 'direct', to: [rig.owner.user.id], content: SECRETS.group })
  await rig.owner.register()
}

export const fileOf = (file: number): Uint8Array =>
  Buffer.alloc(FILE_BYTES + file, `${SECRETS.file}, how infinite in faculty\n`)
