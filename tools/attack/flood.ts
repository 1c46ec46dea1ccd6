/**
 * All that anonymous clients may do at the same time, while 64 valid clients sign: with and without, side by side in one run; and then
 * while it is locked, and somebody unlocks it at the console.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Signed } from './signer.ts'
import { ADMIN, basic, destroyAll, type Outcome, OWNER, settled, type Target, UNLOCK } from './target.ts'

const CLIENTS = 64
const ROUND_MS = 3000
const ROUNDS = 2
const SHARE_MIN = 0.5
const P99_MS_MAX = 200
const OTHERS_MAX = 3 // derivations of others before that of the console

/** Anonymous clients with connections that are kept, and others that come and go. Each sends when it has its answer. */
const FLOODERS = 100
const COMERS = 8
const IDLE = 1000

export async function measureFlood(target: Target, operator: string, isTimed: boolean): Promise<Outcome> {
  const signing = { port: target.port, connections: CLIENTS, credentials: operator }
  const signer = fork(new URL('./signer.ts', import.meta.url), [JSON.stringify(signing)])
  const sign = async (): Promise<Signed> => {
    signer.send(ROUND_MS)
    return (await once(signer, 'message'))[0] as Signed
  }
  const rounds: { quiet: Signed; flooded: Signed }[] = []
  try {
    await sign() // the runtime compiles
    for (let round = 0; round < ROUNDS; round++) {
      const quiet = await sign()
      const flood = await startFlood(target)
      const flooded = await sign()
      await flood.stop()
      rounds.push({ quiet, flooded })
    }
  } finally {
    signer.kill()
  }
  const unlocked = await unlockUnderFlood(target)
  const best = rounds.reduce((a, b) => (shareOf(b) > shareOf(a) ? b : a))
  const failures = rounds.reduce((sum, { quiet, flooded }) => sum + quiet.failures + flooded.failures, 0)
  const isFast = shareOf(best) >= SHARE_MIN && best.flooded.p99Ms < P99_MS_MAX
  return {
    held: failures === 0 && (isFast || !isTimed) && unlocked.held,
    figures: `${CLIENTS} clients sign ${best.flooded.perSecond.toFixed(0)} times a second instead of ${best.quiet.perSecond.toFixed(0)} (${shareOf(best).toFixed(2)}), p99 ${best.flooded.p99Ms.toFixed(0)} ms instead of ${best.quiet.p99Ms.toFixed(0)} ms, ${failures} failures; ${unlocked.figures}`,
  }
}

async function unlockUnderFlood(target: Target): Promise<Outcome> {
  const flood = await startFlood(target)
  try {
    const { status } = await target.call('POST', '/lock', { as: ADMIN, from: OWNER })
    while (flood.unlockGuesses() < 2) await wait(5)
    const before = flood.unlockGuesses()
    const startedMs = performance.now()
    const result = await target.unlockAtConsole(UNLOCK)
    const others = flood.unlockGuesses() - before
    return {
      held: status === 204 && result === 'unlocked' && others <= OTHERS_MAX,
      figures: `the console: ${result} after ${(performance.now() - startedMs).toFixed(0)} ms, ${others} derivations of others`,
    }
  } finally {
    await flood.stop()
  }
}

const shareOf = ({ quiet, flooded }: { quiet: Signed; flooded: Signed }) => flooded.perSecond / quiet.perSecond

interface Flood {
  unlockGuesses(): number
  stop(): Promise<void>
}

async function startFlood(target: Target): Promise<Flood> {
  let going = true
  let unlockGuesses = 0
  const idle = Array.from({ length: IDLE }, (_, n) => {
    const localAddress = `127.0.1.${n % 10}`
    return connectPlain({ host: '127.0.0.1', port: target.port, localAddress })
      .on('error', () => {})
      .resume()
  })
  const guess = (n: number) =>
    `GET /api/v1/keys HTTP/1.1\r\nhost: coffer\r\nauthorization: ${basic(`nobody${n}:a wrong passphrase`)}\r\n\r\n`
  const flooders = Array.from({ length: FLOODERS }, async (_, n) => {
    const raw = await settled(target.raw(2 + (n % 8)))
    if (raw === null) return
    let sent = 0
    raw.socket.on('data', () => raw.socket.write(guess(n + FLOODERS * ++sent)))
    raw.socket.write(guess(n).repeat(n % 10 === 0 ? 1000 : 1)) // some of them pipeline
    while (going && !raw.socket.destroyed) await wait(20)
    raw.socket.destroy()
  })
  const comers = Array.from({ length: COMERS }, async (_, n) => {
    while (going) {
      await settled(target.call('GET', '/keys', { as: `nobody${n}:a wrong passphrase`, from: 20 + n }))
      const guessed = await settled(
        target.call('POST', '/unlock', { from: 20 + n, json: { passphrase: 'a wrong passphrase' } }),
      )
      if (guessed?.status === 403) unlockGuesses++
      await wait(5)
    }
  })
  await wait(500)
  return {
    unlockGuesses: () => unlockGuesses,
    stop: async () => {
      going = false
      destroyAll(idle)
      await Promise.all([...flooders, ...comers])
    },
  }
}
