/** Attacks that exhaust the memory of the firmware, on a device that has little. */

import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, type Attack, basic, destroyAll, OPERATOR, OWNER, SIGN, settled, type Target, UNLOCK } from './target.ts'

const CUT = 'cut off' // refused while it still sent
const MIB = 1024 * 1024
const PIPELINED_MIB_MAX = 128 // what the heap takes to warm up; what is sent would take several times as much
const BODIES_MIB_MAX = 320 // one of the largest messages on its way takes half of it; all at once would take twice as much
const HELD_MIB_MAX = 256 // as many connections take some 60, and what is read and thrown away is collected now and then

const pipelining: Attack = {
  name: '10 MB of wrong logins in one connection',
  async run(target) {
    const before = target.residentMib()
    const login = `GET /api/v1/keys HTTP/1.1\r\nhost: coffer\r\nauthorization: ${basic('nobody:a wrong passphrase')}\r\n\r\n`
    const { socket } = await target.raw(2)
    socket.write(login.repeat(Math.ceil((10 * MIB) / login.length)))
    let most = 0
    for (let count = 0; count < 20; count++) {
      await wait(100)
      most = Math.max(most, residentOf(target))
    }
    socket.destroy()
    const alive = await settled(target.call('GET', '/health/ready', { from: OWNER }))
    return {
      held: target.crashes === 0 && alive?.status === 200 && most - before < PIPELINED_MIB_MAX,
      figures: `${(most - before).toFixed(0)} MiB more memory, ${target.crashes} crashes`,
    }
  },
}

const largeJson: Attack = {
  name: 'a signature of 60 MB of JSON, by an operator',
  async run(target) {
    const before = target.residentMib()
    const outcomes: string[] = []
    let longestMs = 0
    for (const body of [`[${'[],'.repeat(20 * MIB)}[]]`, `{"mode":"EdDSA","message":[${'1,'.repeat(30 * MIB)}1]}`]) {
      const headers = { 'content-type': 'application/json' }
      let isDone = false
      const sent = settled(target.call('POST', '/keys/ed/sign', { as: OPERATOR, body, headers })).finally(() => {
        isDone = true
      })
      while (!isDone) {
        const startedMs = performance.now()
        await settled(target.call('GET', '/health/ready', { from: OWNER }))
        longestMs = Math.max(longestMs, performance.now() - startedMs)
        await wait(20)
      }
      outcomes.push(String((await sent)?.status ?? CUT))
    }
    const more = target.residentMib() - before
    return {
      held: target.crashes === 0 && outcomes.every((status) => status.startsWith('4') || status === CUT),
      figures: `${outcomes.join(' ')}, others waited ${longestMs.toFixed(0)} ms at most, ${more.toFixed(0)} MiB more memory, ${target.crashes} crashes`,
    }
  },
}

const largeMessages: Attack = {
  name: 'eight messages of 64 MB at a time, by an operator',
  async run(target) {
    const before = target.residentMib()
    const body = `{"mode":"EdDSA","message":"${'AAAA'.repeat(16 * MIB)}"}`
    const headers = { 'content-type': 'application/json' }
    let isDone = false
    const large = Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        settled(target.call('POST', '/keys/ed/sign', { as: OPERATOR, from: 2 + n, body, headers })),
      ),
    ).finally(() => {
      isDone = true
    })
    let most = 0
    let refused = 0
    let count = 0
    for (; !isDone; count++) {
      const small = await settled(target.call('POST', '/keys/ed/sign', { as: OPERATOR, from: OWNER, json: SIGN }))
      if (small?.status !== 200) refused++
      most = Math.max(most, residentOf(target))
    }
    const statuses = (await large).map((answer) => answer?.status ?? CUT)
    return {
      held: target.crashes === 0 && refused === 0 && most - before < BODIES_MIB_MAX,
      figures: `${statuses.join(' ')}, ${refused} of ${count} small ones were refused meanwhile, ${(most - before).toFixed(0)} MiB more memory, ${target.crashes} crashes`,
    }
  },
}

const heldBodies: Attack = {
  name: 'bodies of unlocking held on 600 connections of one address, while the owner unlocks',
  async run(target) {
    await target.call('POST', '/lock', { as: ADMIN, from: OWNER })
    const before = target.residentMib()
    const raws = await Promise.all(Array.from({ length: 600 }, () => settled(target.raw(2))))
    raws.forEach((raw, n) => {
      const bytes = n % 2 === 0 ? MIB : 16_000
      raw?.socket.write(
        `POST /api/v1/unlock HTTP/1.1\r\nhost: coffer\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`,
      )
      raw?.socket.write(Buffer.alloc(bytes - 1, 0x20))
    })
    await wait(2000)
    const more = target.residentMib() - before
    const owner = await settled(target.call('POST', '/unlock', { from: OWNER, json: { passphrase: UNLOCK } }))
    destroyAll(raws.map((raw) => raw?.socket))
    return {
      held: target.crashes === 0 && owner?.status === 204 && more < HELD_MIB_MAX,
      figures: `the owner ${owner?.status ?? CUT}, ${more.toFixed(0)} MiB more memory, ${target.crashes} crashes`,
    }
  },
}

export const MEMORY_ATTACKS: Record<'open' | 'locked', readonly Attack[]> = {
  open: [pipelining, largeJson, largeMessages],
  locked: [heldBodies],
}

/** 0 while it starts again. */
function residentOf(target: Target): number {
  try {
    return target.residentMib()
  } catch {
    return 0
  }
}
