/** Attacks of clients without an account, revoked users and pages of other sites. Each attack says whether it was held off, with figures. */

import { connect as connectPlain } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { MEMORY_ATTACKS } from './memory-attacks.ts'
import { ADMIN, type Attack, basic, destroyAll, OPERATOR, OWNER, SIGN, settled, type Target, UNLOCK } from './target.ts'

const LONGER_MAX = 20 // where each character is looked at once more for every other, hundreds
const REVOKED = 'revoked:passphrase of the revoked one'

export async function provision(target: Target, unlockPassphrase = UNLOCK, admin = ADMIN): Promise<number> {
  const adminPassphrase = admin.slice(admin.indexOf(':') + 1)
  const json = { unlockPassphrase, adminPassphrase, systemTime: new Date().toISOString() }
  return (await target.call('POST', '/provision', { json })).status
}

export async function addUser(target: Target, credentials: string, role: string, as = ADMIN): Promise<void> {
  const [id, passphrase] = credentials.split(':')
  const answer = await target.call('PUT', `/users/${id}`, { as, json: { realName: id, role, passphrase } })
  if (answer.status !== 201) throw new Error(`A user is not added: ${answer.status}`)
}

/** `backup` is of another Coffer, the attacker's own. */
export const takeover = (backup: Buffer, passphrase: string): Attack => ({
  name: 'a restore opened before provisioning is finished after it',
  async run(target) {
    const query = `backupPassphrase=${encodeURIComponent(passphrase)}`
    const { socket, statuses } = await target.raw(2)
    socket.write(
      `POST /api/v1/system/restore?${query} HTTP/1.1\r\nhost: coffer\r\ncontent-type: application/octet-stream\r\ncontent-length: ${backup.length}\r\n\r\n`,
    )
    socket.write(backup.subarray(0, 100))
    await wait(300)
    const provisioned = await provision(target)
    socket.write(backup.subarray(100))
    await answered(statuses, socket, 1, 10_000)
    const owner = (await target.call('GET', '/users', { as: ADMIN })).status
    socket.destroy()
    return {
      held: provisioned === 204 && !statuses.has(204) && owner === 200,
      figures: `provisioning ${provisioned}, the restore ${[...statuses.keys()].join(' ') || 'cut off'}, the owner ${owner}`,
    }
  },
})

const revocation: Attack = {
  name: 'a deleted administrator finishes a request from before the deletion',
  async run(target) {
    await addUser(target, REVOKED, 'Administrator')
    const body = JSON.stringify({ realName: 'evil', role: 'Administrator', passphrase: 'passphrase of evil' })
    const { socket, statuses } = await target.raw(2)
    socket.write(
      `PUT /api/v1/users/evil HTTP/1.1\r\nhost: coffer\r\nauthorization: ${basic(REVOKED)}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    )
    await wait(1000) // the credentials are checked
    await target.call('DELETE', '/users/revoked', { as: ADMIN })
    socket.write(body.slice(10))
    await answered(statuses, socket, 1, 10_000)
    const evil = (await target.call('GET', '/users/evil', { as: ADMIN })).status
    socket.destroy()
    return { held: evil === 404, figures: `the request ${[...statuses.keys()].join(' ')}, the user it made ${evil}` }
  },
}

const unknownUsers: Attack = {
  name: 'unknown users on 100 connections of one address, while somebody logs in',
  async run(target) {
    const raws = await Promise.all(Array.from({ length: 100 }, () => settled(target.raw(2))))
    const refused = () => raws.reduce((sum, raw) => sum + (raw?.statuses.get(401) ?? 0), 0)
    raws.forEach((raw, n) => {
      let sent = 0
      const guess = () =>
        raw?.socket.write(
          `GET /api/v1/keys HTTP/1.1\r\nhost: coffer\r\nauthorization: ${basic(`nobody${n}.${sent++}:a wrong passphrase`)}\r\n\r\n`,
        )
      raw?.socket.on('data', guess)
      guess()
    })
    const owner = await target.connect(OWNER) // how long that takes is another matter
    await until(() => refused() >= 3)
    const before = refused()
    const startedMs = performance.now()
    const login = await settled(target.call('GET', '/keys', { as: LATE, on: owner }))
    const tookMs = performance.now() - startedMs
    const derivations = refused() - before
    destroyAll(raws.map((raw) => raw?.socket))
    return {
      held: login?.status === 200 && derivations <= 4, // one runs, one is the owner's, and answers travel
      figures: `${login?.status ?? 'cut off'} after ${tookMs.toFixed(0)} ms and ${derivations} derivations of others`,
    }
  },
}
export const LATE = 'late:passphrase of the late one'

const connections: Attack = {
  name: '4,500 connections of one address',
  async run(target) {
    const sockets = Array.from({ length: 4500 }, () =>
      connectPlain({ host: '127.0.0.1', port: target.port, localAddress: '127.0.0.2' })
        .on('error', () => {})
        .resume(),
    )
    await wait(3000)
    const statuses: (number | string)[] = []
    const ask = async (method: string, path: string, as: string, json?: unknown) =>
      statuses.push((await settled(target.call(method, path, { as, from: OWNER, json })))?.status ?? 'cut off')
    await ask('POST', '/keys/ed/sign', OPERATOR, SIGN)
    await ask('POST', '/keys/generate', ADMIN, { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] })
    await ask('POST', '/system/backup', BACKUP)
    destroyAll(sockets)
    return {
      held: statuses.join() === '200,201,200',
      figures: `a signature ${statuses[0]}, a new key ${statuses[1]}, a backup ${statuses[2]}`,
    }
  },
}
export const BACKUP = 'backup:passphrase of backups'

const sharedAddress: Attack = {
  name: 'wrong passphrases for a user from the address of the user',
  async run(target) {
    await target.call('POST', '/keys/ed/sign', { as: OPERATOR, from: OWNER, json: SIGN })
    let isDone = false
    const guesses = (async () => {
      while (!isDone) {
        await settled(target.call('GET', '/keys', { as: 'operator:a wrong passphrase', from: OWNER }))
        await wait(5)
      }
    })()
    let blocked = 0
    for (let count = 0; count < 50; count++) {
      const { status } = await target.call('POST', '/keys/ed/sign', { as: OPERATOR, from: OWNER, json: SIGN })
      if (status !== 200) blocked++
    }
    isDone = true
    await guesses
    return { held: blocked === 0, figures: `${blocked} of 50 signatures were refused` }
  },
}

const auditFlush: Attack = {
  name: 'refused requests of an operator push changes out of the audit log',
  async run(target) {
    await target.call('PUT', '/config/audit', { as: ADMIN, json: { lines: 1000 } })
    const { socket, statuses } = await target.raw(2)
    const refused = `GET /api/v1/users HTTP/1.1\r\nhost: coffer\r\nauthorization: ${basic(OPERATOR)}\r\n\r\n`
    const count = 3000
    for (let sent = 0; sent < count; sent += 100) {
      socket.write(refused.repeat(100))
      await answered(statuses, socket, sent + 100, 10_000)
    }
    socket.destroy()
    const change = await target.call('GET', '/audit?action=provision', { as: ADMIN })
    const isKept = change.bytes.includes('POST /provision')
    return { held: isKept, figures: `after ${count} of them the provisioning is ${isKept ? 'still there' : 'gone'}` }
  },
}

const crossSite: Attack = {
  name: 'a page of another site uses the credentials of a browser',
  async run(target) {
    const statuses: number[] = []
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      for (const path of ['/lock', '/system/factory-reset']) {
        const { status } = await target.call('POST', path, { as: ADMIN, headers: headers as Record<string, string> })
        if (status < 300) return { held: false, figures: `POST ${path} ${status}` }
        statuses.push(status)
      }
    }
    return { held: statuses.every((status) => status === 403), figures: statuses.join(' ') }
  },
}

const longHeaders: Attack = {
  name: 'headers that are long to read, by strangers',
  async run(target) {
    const long = (character: string) => character.repeat(15_000)
    const accepts = {
      ordinary: `a/b;q=${long('a')}`,
      spaces: `a/b;q=a${long(' ')}b`,
      commas: long(','),
      semicolons: `a/b${long(';')}`,
    }
    const tookMs = new Map<string, number[]>()
    for (let i = 0; i < 10; i++)
      for (const [name, accept] of Object.entries(accepts)) {
        const startedMs = performance.now()
        await target.call('GET', '/info', { from: 2, headers: { accept } })
        tookMs.set(name, [...(tookMs.get(name) ?? []), performance.now() - startedMs])
      }
    const least = (name: string) => Math.min(...(tookMs.get(name) ?? []))
    const times = Math.max(...Object.keys(accepts).map(least)) / least('ordinary')
    return { held: times < LONGER_MAX, figures: `${times.toFixed(1)} times as long as another of its length` }
  },
}

const unlockFlood: Attack = {
  name: '18 addresses guess the unlock passphrase, while the owner unlocks',
  async run(target) {
    const figures: string[] = []
    let held = true
    for (const way of ['network', 'console'] as const) {
      await target.call('POST', '/lock', { as: ADMIN, from: OWNER })
      let guesses = 0
      let going = true
      const flood = Array.from({ length: 18 }, async (_, n) => {
        while (going) {
          const json = { passphrase: `a wrong guess by ${n}` }
          const answer = await settled(target.call('POST', '/unlock', { from: 40 + n, json }))
          if (answer?.status === 403) guesses++
          await wait(20)
        }
      })
      const owner = await target.connect(OWNER)
      await until(() => guesses >= 2)
      const before = guesses
      const startedMs = performance.now()
      const unlocked =
        way === 'console'
          ? (await target.unlockAtConsole(UNLOCK)) === 'unlocked'
          : (await settled(target.call('POST', '/unlock', { on: owner, json: { passphrase: UNLOCK } })))?.status === 204
      const tookMs = performance.now() - startedMs
      const others = guesses - before
      going = false
      owner.destroy()
      await Promise.all(flood)
      held &&= unlocked && others <= 3
      figures.push(
        `${way}: ${unlocked ? 'unlocked' : 'kept out'} after ${tookMs.toFixed(0)} ms, ${others} derivations of others`,
      )
    }
    return { held, figures: figures.join('; ') }
  },
}

export const ATTACKS: readonly Attack[] = [
  revocation,
  crossSite,
  longHeaders,
  ...MEMORY_ATTACKS.open,
  unknownUsers,
  connections,
  sharedAddress,
  auditFlush,
  unlockFlood,
  ...MEMORY_ATTACKS.locked,
]

/** Until so many answers have come, the connection ended, or it took too long. */
function answered(
  statuses: ReadonlyMap<number, number>,
  socket: { destroyed: boolean },
  count: number,
  ms: number,
): Promise<void> {
  return until(() => socket.destroyed || statuses.values().reduce((a, b) => a + b, 0) >= count, ms)
}

async function until(condition: () => boolean, ms = 10_000): Promise<void> {
  const endMs = performance.now() + ms
  while (!condition() && performance.now() < endMs) await wait(5)
}
