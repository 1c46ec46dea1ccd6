/**
 * The attacks that every release must hold off, against the bundle with the heap of a device of 512 MB, on loopback only.
 * Ends with 1 when one of them succeeds.
 *
 * node tools/attack/main.ts [--untimed] [--only=words]
 *
 * With --untimed, how fast valid clients are is told and decides nothing; --only chooses attacks by words of their names.
 */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bundle } from '../build.ts'
import { ATTACKS, addUser, BACKUP, LATE, provision, takeover } from './attacks.ts'
import { CHAT_ATTACKS } from './chat-attacks.ts'
import { CHAT_GROWTH_ATTACKS } from './chat-growth-attacks.ts'
import { CHAT_SUM_ATTACKS } from './chat-sum-attacks.ts'
import { startChatTarget } from './chat-target.ts'
import { measureFlood } from './flood.ts'
import { attackOutgoing } from './outgoing-attacks.ts'
import { SUM_ATTACKS } from './sum-attacks.ts'
import {
  ADMIN,
  type Attack,
  OPERATOR,
  type Outcome,
  OWNER,
  SIGN,
  settled,
  startTarget,
  type Target,
  UNLOCK,
} from './target.ts'

const ATTACK_MS_MAX = 120_000 // on a busy computer; on its own each takes some seconds, and slow servers a minute
const BACKUP_PASSPHRASE = 'backup passphrase of the attacker'
const ATTACKER = 'admin:passphrase of the attacker'
const ATTACKER_UNLOCK = 'unlock passphrase of the attacker'

const { values: options } = parseArgs({
  options: { untimed: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const directory = mkdtempSync(join(tmpdir(), 'coffer-attack-'))
const programs = join(directory, 'programs')
const broken: string[] = []
try {
  await bundle(programs)
  const backup = await attackersBackup()
  await withTarget('fresh', (target) => attempt(target, takeover(backup, BACKUP_PASSPHRASE)))
  await withTarget('provisioned', async (target) => {
    await provision(target)
    await fillStore(target)
    const flood = { name: 'all of it at once, while 64 clients sign', run: flooding }
    for (const attack of [...SUM_ATTACKS, ...ATTACKS, flood]) await attempt(target, attack)
    const sign = async () =>
      (await target.call('POST', '/keys/ed/sign', { as: OPERATOR, from: OWNER, json: SIGN })).status
    const chat = await startChatTarget(join(directory, 'chat'), sign)
    for (const { name, run } of [...CHAT_ATTACKS, ...CHAT_SUM_ATTACKS, ...CHAT_GROWTH_ATTACKS])
      await judge(name, () => run(chat))
    await chat.stop()
  })
  chmodSync(directory, 0o755) // where we are root, firmware and chat of this one are other users
  await attackOutgoing(programs, join(directory, 'outgoing'), judge)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
console.log(broken.length === 0 ? 'All were held off.' : `${broken.length} succeeded:\n${broken.join('\n')}`)
process.exit(broken.length === 0 ? 0 : 1)

function flooding(target: Target) {
  return measureFlood(target, OPERATOR, !options.untimed)
}

async function attempt(target: Target, { name, run }: Attack): Promise<void> {
  await judge(name, () => run(target))
  await settled(target.unlockAtConsole(UNLOCK)) // where an attack has locked it
}

async function judge(name: string, run: () => Promise<Outcome>): Promise<void> {
  if (!name.includes(options.only)) return
  const late = wait(ATTACK_MS_MAX, { held: false, figures: `no end after ${ATTACK_MS_MAX / 1000} s` }, { ref: false })
  const failed = (error: Error) => ({ held: false, figures: error.message })
  const { held, figures } = await Promise.race([run().catch(failed), late])
  if (!held) broken.push(`${name}: ${figures}`)
  console.log(`${held ? 'held  ' : 'broken'}  ${name}: ${figures}`)
}

function attackersBackup(): Promise<Buffer> {
  return withTarget('attacker', async (own) => {
    await provision(own, ATTACKER_UNLOCK, ATTACKER)
    const json = { newPassphrase: BACKUP_PASSPHRASE, currentPassphrase: '' }
    await own.call('PUT', '/config/backup-passphrase', { as: ATTACKER, json })
    await addUser(own, BACKUP, 'Backup', ATTACKER)
    return (await own.call('POST', '/system/backup', { as: BACKUP })).bytes
  })
}

async function withTarget<T>(name: string, use: (target: Target) => Promise<T>): Promise<T> {
  const target = await startTarget(programs, join(directory, name))
  try {
    return await use(target)
  } finally {
    await target.stop()
  }
}

async function fillStore(target: Target): Promise<void> {
  await addUser(target, OPERATOR, 'Operator')
  await addUser(target, LATE, 'Operator')
  await addUser(target, BACKUP, 'Backup')
  const json = { newPassphrase: 'backup passphrase of the owner', currentPassphrase: '' }
  await target.call('PUT', '/config/backup-passphrase', { as: ADMIN, json })
  const key = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], id: 'ed' }
  await target.call('POST', '/keys/generate', { as: ADMIN, json: key })
}
