/** One account cannot take the organization's whole quota of uploads, neither by itself nor by its bots. Contract sections 1.7 and 9.1. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ROLES } from '../../../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../../../firmware/chat/realm/organization/operator/operator.ts'
import { expectConsistent } from '../../durability/consistency.ts'
import { type Answer, type Client, openTestChat, type TestChat } from '../../support/chat.ts'

const MIB = 1024 * 1024
const QUOTA_MIB = 8
const SHARE_MIB = QUOTA_MIB / 4
const FILE = new Uint8Array(MIB)

async function openWithQuota(t: TestContext): Promise<TestChat> {
  const rig = await openTestChat()
  t.after(rig.close)
  changeOperatorSettings(rig.chat.realm, { uploadQuotaMib: QUOTA_MIB })
  return rig
}

const upload = (client: Client, file = FILE): Promise<Answer> => client.upload('POST', '/user_uploads', file)

function expectRefused({ status, body }: Answer, quota: string): void {
  assert.deepEqual([status, body.code, body.msg], [400, 'REALM_UPLOAD_QUOTA', `Upload would exceed ${quota}.`])
}

const SHARE = 'your share of your organization\u2019s upload quota'

async function fill(client: Client): Promise<void> {
  for (let n = 0; n < SHARE_MIB; n++) assert.equal((await upload(client)).status, 200, `${n}`)
  expectRefused(await upload(client, new Uint8Array(1)), SHARE)
}

test('an account has a quarter of the quota, and gets room back by deleting', async (t) => {
  const rig = await openWithQuota(t)
  const guest = rig.account('guest', ROLES.guest)
  expectRefused(await upload(guest, new Uint8Array(SHARE_MIB * MIB + 1)), SHARE)
  await fill(guest)
  const { attachments } = await guest.get('/attachments')
  await guest.delete(`/attachments/${attachments[0].id}`)
  assert.equal((await upload(guest)).status, 200)
  expectRefused(await upload(guest, new Uint8Array(1)), SHARE)
  await expectConsistent(rig.chat.realm)
})

test('the others still have theirs, and an administrator the rest of the quota', async (t) => {
  const rig = await openWithQuota(t)
  await fill(rig.account('one', ROLES.guest))
  await fill(rig.account('two', ROLES.moderator))
  for (let n = 0; n < QUOTA_MIB - 2 * SHARE_MIB; n++) assert.equal((await upload(rig.owner)).status, 200, `${n}`)
  expectRefused(await upload(rig.owner), 'your organization\u2019s upload quota')
  expectRefused(await upload(rig.account('three', ROLES.member)), 'your organization\u2019s upload quota')
})

test('bots spend the share of their owner, deactivated ones, too', async (t) => {
  const rig = await openWithQuota(t)
  const maker = rig.account('maker', ROLES.member)
  const bots: Client[] = []
  for (const short_name of ['first', 'second']) {
    const { user_id } = await maker.post('/bots', { full_name: short_name, short_name })
    bots.push(rig.clientOf(rig.chat.realm.state.user.get(user_id)!))
  }
  for (const bot of bots) assert.equal((await upload(bot)).status, 200)
  await maker.delete(`/bots/${bots[1]!.user.id}`)
  for (const client of [maker, bots[0]!]) expectRefused(await upload(client, new Uint8Array(1)), SHARE)
})

test('small files have bounds, too: of an account, and of the organization', async (t) => {
  const rig = await openWithQuota(t)
  const maker = rig.account('maker', ROLES.member)
  const small = new Uint8Array(1)
  const count = (client: Client, files: number) => {
    const [counted] = rig.chat.realm.store.select('UPDATE upload_sums SET files = ? WHERE owner = ? RETURNING owner', [
      files,
      client.user.id,
    ])
    assert.ok(counted)
  }
  for (const [client, max, message] of [
    [maker, 50_000, 'More than 50000 files'],
    [rig.owner, 1_000_000 - 50_000, 'More than 1000000 files in the organization'],
  ] as const) {
    assert.equal((await upload(client, small)).status, 200)
    count(client, max - 1)
    assert.equal((await upload(client, small)).status, 200)
    const { status, body } = await upload(client, small)
    assert.deepEqual([status, body.code, body.msg], [400, 'BAD_REQUEST', message])
  }
})
