// @test long 40 slow

/** 64 clients at once: what is left at the end is what the answers said. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned, UNLOCK } from '../support/suite.ts'

const CLIENTS = 64
const RUN_MS = process.env.COFFER_SLOW === undefined ? 15_000 : 300_000
const RUN_MS_MORE_MAX = 120_000 // where little was signed or locked by then
const SETTLE_MS_MAX = 60_000 // for what is under way when the time is over
const CONTESTED = 12
const LOCKS_MIN = 2
const LOCK_AFTER_MS_MIN = 300
const LOCK_AFTER_MS_MAX = 3000
const LOCKED_WAIT_MS = 50 // 64 clients that ask without pause would mostly measure how fast 412 is
const SIGNED_MIN = 100 // on a slow machine; less would show nothing
const SEED = Number(process.env.ACCEPT_SEED ?? Date.now() % 0x7fffffff)

let appliance: Appliance
const administrators = Array.from({ length: 4 }, (_, index) => credentialsOf(`admin${index}`))
const operators = Array.from({ length: 4 }, (_, index) => credentialsOf(`operator${index}`))
const message = { mode: 'EdDSA', message: Buffer.from('message').toString('base64') }

const ed25519 = (label: string) => ({
  type: 'Curve25519',
  mechanisms: ['EdDSA_Signature'],
  private: { data: Buffer.alloc(32, 7).toString('base64') },
  label,
})

/** mulberry32, so that a run can be told by its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

interface Known {
  signed: number
  label: string
}

describe('concurrency', () => {
  before(async () => {
    appliance = await startProvisioned({ logLevel: 'warning' })
    for (let index = 0; index < 4; index++) {
      await addUser(appliance, `admin${index}`, 'Administrator')
      await addUser(appliance, `operator${index}`, 'Operator')
    }
  })
  after(() => appliance?.dispose())

  test(`64 clients create, delete, list, sign, lock and unlock (seed ${SEED})`, async (t) => {
    const problems: string[] = []
    const counts = new Map<string, number>()
    /** Signatures of the contested keys by key; they are deleted and made again, so only the sum since the last is known. */
    const contested = Array.from({ length: CONTESTED }, () => ({ made: 0, deleted: 0 }))
    const shared = ['shared0', 'shared1']
    const sharedSigned = new Map(shared.map((id) => [id, 0]))
    for (const id of shared) await expect(204, appliance.call('PUT', `/keys/${id}`, { as: ADMIN, json: ed25519('') }))
    const mine: Map<string, Known>[] = []
    const deadline = Date.now() + RUN_MS
    let locks = 0
    // A busy computer takes longer to sign and to lock enough.
    const isSignedEnough = () => (counts.get('sign 200') ?? 0) > SIGNED_MIN
    const isEnough = () => isSignedEnough() && locks >= LOCKS_MIN
    const goesOn = () => Date.now() < deadline || (!isEnough() && Date.now() < deadline + RUN_MS_MORE_MAX)

    /** 412 comes with locking and is no answer to the question; everything else has to be one of `allowed`. */
    const ask = async (what: string, allowed: number[], pending: Promise<Reply>): Promise<Reply | undefined> => {
      let reply: Reply
      try {
        reply = await pending
      } catch (error) {
        problems.push(`${what}: ${(error as Error).message}`)
        return undefined
      }
      const kind = `${what.split(' ')[0]} ${reply.status}`
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
      if (reply.status === 412) {
        if (!reply.text().includes('Service not available')) problems.push(`${what}: 412 ${reply.text()}`)
        await delay(LOCKED_WAIT_MS)
        return undefined
      }
      if (!allowed.includes(reply.status)) {
        problems.push(`${what}: ${reply.status} ${reply.text().slice(0, 100)}`)
        return undefined
      }
      return reply
    }

    const client = async (number: number) => {
      const random = randomOf(SEED + number)
      const pick = <T>(values: readonly T[]): T => values[random(values.length)]!
      const keys = new Map<string, Known>()
      const deleted = new Set<string>()
      mine.push(keys)
      let serial = 0
      while (goesOn()) {
        const as = pick(administrators)
        const operator = pick(operators)
        const own = [...keys.keys()]
        const choice = random(100)
        if (choice < 18 || own.length === 0) {
          const id = `c${number}-${serial++}`
          const label = `label ${id}`
          if (choice % 2 === 0) {
            const reply = await ask('put', [204], appliance.call('PUT', `/keys/${id}`, { as, json: ed25519(label) }))
            if (reply) keys.set(id, { signed: 0, label })
          } else {
            const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], id, label }
            const reply = await ask('generate', [201], appliance.call('POST', '/keys/generate', { as, json }))
            if (reply) keys.set(id, { signed: 0, label })
          }
        } else if (choice < 28) {
          const id = pick(own)
          if (await ask('delete', [204], appliance.call('DELETE', `/keys/${id}`, { as }))) {
            keys.delete(id)
            deleted.add(id)
          }
        } else if (choice < 60) {
          const id = pick(own)
          const reply = await ask(
            'sign',
            [200],
            appliance.call('POST', `/keys/${id}/sign`, { as: operator, json: message }),
          )
          if (reply) keys.get(id)!.signed++
        } else if (choice < 70) {
          const id = pick(shared)
          const reply = await ask(
            'sign',
            [200],
            appliance.call('POST', `/keys/${id}/sign`, { as: operator, json: message }),
          )
          if (reply) sharedSigned.set(id, sharedSigned.get(id)! + 1)
        } else if (choice < 78) {
          const reply = await ask('list', [200], appliance.call('GET', '/keys', { as: operator }))
          if (reply) checkList(reply, own, deleted, (text) => problems.push(`client ${number}: ${text}`))
        } else if (choice < 84) {
          const id = pick(own)
          const known = keys.get(id)!
          const reply = await ask('get', [200], appliance.call('GET', `/keys/${id}`, { as: operator }))
          const { operations, label } = reply?.json<{ operations: number; label: string }>() ?? {}
          if (reply && operations !== known.signed)
            problems.push(`${id}: ${operations} operations, ${known.signed} signed`)
          if (reply && label !== known.label) problems.push(`${id}: label ${label}`)
        } else if (choice < 88) {
          const id = pick(own)
          const known = keys.get(id)!
          const label = `label ${id} ${serial++}`
          if (await ask('label', [204], appliance.call('PUT', `/keys/${id}/label`, { as, json: { label } })))
            known.label = label
        } else if (choice < 91) {
          const id = pick(own)
          const newId = `c${number}-${serial++}`
          const reply = await ask('move', [200], appliance.call('POST', `/keys/${id}/move`, { as, json: { newId } }))
          if (reply) {
            keys.set(newId, keys.get(id)!)
            keys.delete(id)
            deleted.add(id)
          }
        } else if (choice < 96) {
          const index = random(CONTESTED)
          const call = { as, json: ed25519('') }
          const reply = await ask('contest', [204, 409], appliance.call('PUT', `/keys/contested${index}`, call))
          if (reply?.status === 204) contested[index]!.made++
        } else {
          const index = random(CONTESTED)
          const reply = await ask('remove', [204, 404], appliance.call('DELETE', `/keys/contested${index}`, { as }))
          if (reply?.status === 204) contested[index]!.deleted++
        }
      }
    }

    const locking = async () => {
      const random = randomOf(SEED + CLIENTS)
      while (Date.now() < deadline - 5000 || (locks < LOCKS_MIN && goesOn())) {
        await delay(LOCK_AFTER_MS_MIN + random(LOCK_AFTER_MS_MAX - LOCK_AFTER_MS_MIN)) // each meets other requests half way
        if (await ask('lock', [204], appliance.call('POST', '/lock', { as: ADMIN }))) locks++
        await delay(200)
        await ask('unlock', [204], appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
      }
    }

    await Promise.race([
      Promise.all([...Array.from({ length: CLIENTS }, (_, number) => client(number)), locking()]),
      delay(RUN_MS + RUN_MS_MORE_MAX + SETTLE_MS_MAX, undefined, { ref: false }).then(() =>
        assert.fail('requests are still unanswered'),
      ),
    ])

    for (const [kind, count] of [...counts].sort()) t.diagnostic(`${kind}: ${count}`)
    assert.deepEqual(problems.slice(0, 20), [], `${problems.length} problems`)
    assert(locks >= LOCKS_MIN, `${locks} locks`)
    assert(isSignedEnough(), 'hardly anything was signed')

    const check = async () => {
      const listed = (await expect(200, appliance.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>()
      const ids = listed.map(({ id }) => id)
      const there = contested.map(({ made, deleted }, index) => {
        assert([0, 1].includes(made - deleted), `contested${index}: made ${made}, deleted ${deleted}`)
        return made > deleted ? `contested${index}` : undefined
      })
      const expected = [
        ...mine.flatMap((keys) => [...keys.keys()]),
        ...shared,
        ...there.filter((id) => id !== undefined),
      ]
      assert.deepEqual(ids, expected.sort())
      const wrong: string[] = []
      const compare = async (id: string, known: { signed: number; label?: string }) => {
        const key = (await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))).json<
          Record<string, unknown>
        >()
        if (key.operations !== known.signed) wrong.push(`${id}: ${key.operations} operations, ${known.signed} signed`)
        if (known.label !== undefined && key.label !== known.label) wrong.push(`${id}: label ${key.label}`)
      }
      for (const keys of mine) for (const [id, known] of keys) await compare(id, known)
      for (const [id, signed] of sharedSigned) await compare(id, { signed })
      assert.deepEqual(wrong, [])
    }
    await check()
    // The same is on the disk, counters included, after a clean stop.
    await appliance.restart()
    await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    await check()
  })

  test('of many clients that ask for the same new id, one gets it', async () => {
    const race = async (call: (as: string) => Promise<Reply>, won: number, lost: number) => {
      const statuses = (
        await Promise.all(administrators.concat(administrators, administrators, administrators).map(call))
      )
        .map(({ status }) => status)
        .sort()
      assert.deepEqual(statuses, [won, ...new Array(15).fill(lost)].sort())
    }
    await race((as) => appliance.call('PUT', '/keys/race1', { as, json: ed25519('') }), 204, 409)
    const generate = { type: 'EC_P521', mechanisms: ['ECDSA_Signature'], id: 'race2' }
    await race((as) => appliance.call('POST', '/keys/generate', { as, json: generate }), 201, 409)
    await race((as) => appliance.call('DELETE', '/keys/race1', { as }), 204, 404)
    await race((as) => appliance.call('POST', '/keys/race2/move', { as, json: { newId: 'race3' } }), 200, 404)
    const user = { realName: 'n', role: 'Operator', passphrase: 'passphrase of race' }
    await race((as) => appliance.call('PUT', '/users/race', { as, json: user }), 201, 409)
    await race((as) => appliance.call('PUT', '/namespaces/race', { as }), 204, 400)
    await race((as) => appliance.call('PUT', '/keys/race3/restrictions/tags/t', { as }), 204, 304)
    const certificate = { body: 'c', type: 'application/octet-stream' }
    await race((as) => appliance.call('PUT', '/keys/race3/cert', { as, ...certificate }), 201, 409)
    await race((as) => appliance.call('DELETE', '/users/race', { as }), 204, 404)
  })
})

function checkList(reply: Reply, own: string[], deleted: Set<string>, complain: (text: string) => void) {
  const ids = reply.json<{ id: string }[]>().map(({ id }) => id)
  for (let index = 1; index < ids.length; index++) {
    if (ids[index - 1]! >= ids[index]!) complain(`listed ${ids[index]} after ${ids[index - 1]}`)
  }
  const listed = new Set(ids)
  for (const id of own) if (!listed.has(id)) complain(`${id} is not listed`)
  for (const id of deleted) if (listed.has(id)) complain(`${id} was deleted and is listed`)
}
