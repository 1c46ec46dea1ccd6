// @test long 65
/** Traces of a key in the memory of a process, read from outside, in every form that the engines give to its numbers. */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { FIRMWARE_ENVIRONMENT } from '../../boot/supervisor/firmware-process.ts'
import { isFast } from '../../firmware/crypto/engine/choice.ts'
import { foreignKey, KINDS, nameOf } from './foreign-keys.ts'
import { type Found, NOTHING, type Piece, search, type Traces, tracesOf } from './memory-search.ts'
import { type Answer, CARELESS, disguise, type Order, undisguise } from './remembering-program.ts'

class Program {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Program> {
    const child = fork(new URL('remembering-program.ts', import.meta.url), args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env,
    })
    await once(child, 'message')
    return new Program(child)
  }

  async obey(order: Order): Promise<Answer> {
    const done = once(this.#child, 'message')
    this.#child.send(order)
    const [answer] = await done
    return answer
  }

  /** Uses new keys of every kind; gives what they may leave behind, and their numbers. */
  async useAll(): Promise<{ all: Traces[]; refs: number[] }> {
    const [all, refs]: [Traces[], number[]] = [[], []]
    for (const kind of KINDS) {
      const { stored } = foreignKey(kind)
      refs.push(++lastRef)
      await this.obey({ use: lastRef, type: kind.type, mode: kind.mode, disguised: disguise(stored) })
      all.push(tracesOf(nameOf(kind), kind.type, stored))
    }
    return { all, refs }
  }

  look(all: readonly Traces[]): Found {
    return search(this.#child.pid!, all)
  }

  async end(): Promise<void> {
    const end = once(this.#child, 'exit')
    this.#child.send('end' satisfies Order)
    await end
  }
}

let lastRef = 0
let program: Program
before(async () => {
  program = await Program.start(FIRMWARE_ENVIRONMENT)
})
after(() => program.end())

const count = (pieces: readonly Piece[], name: string, what: Piece['what']): number =>
  pieces.filter((piece) => piece.name === name && piece.what === what).length

test('nothing is left of keys of every type that were imported', async () => {
  const all: Traces[] = []
  for (const kind of KINDS) {
    const { material, stored, pem } = foreignKey(kind)
    await program.obey({ import: kind.type, disguised: disguise(material) })
    all.push(tracesOf(nameOf(kind), kind.type, stored, pem))
  }
  assert.deepEqual(program.look(all), NOTHING)
})

test('nothing is left of keys of every type that were generated', async () => {
  const all: Traces[] = []
  for (const kind of KINDS) {
    const { type, bits } = kind
    const answer = await program.obey({ generate: type, ...(bits !== undefined && { bits }) })
    assert.ok(typeof answer === 'object')
    all.push(tracesOf(nameOf(kind), type, undisguise(answer.disguised)))
  }
  assert.deepEqual(program.look(all), NOTHING)
})

test('the search finds keys that are open, and factors a modulus; nothing is left of them when they are deleted', async () => {
  const { all, refs } = await program.useAll()
  const { pieces, factored } = program.look(all)
  for (const kind of KINDS) {
    const name = nameOf(kind)
    if (kind.type === 'RSA' && isFast) {
      assert.ok(count(pieces, name, 'limb') > 100, name)
      assert.ok(factored.includes(name), name)
    } else assert.ok(count(pieces, name, 'bytes') > 0, name)
  }
  for (const ref of refs) await program.obey({ forget: ref })
  assert.deepEqual(program.look(all), NOTHING)
})

test('nothing is left of keys that made room for others', async () => {
  const { all } = await program.useAll()
  await program.obey('evict')
  assert.deepEqual(program.look(all), NOTHING)
})

test('nothing is left of keys that were in use before a lock', async () => {
  const { all } = await program.useAll()
  await program.obey('forgetAll')
  // the workers that a lock ends take a moment; until then they may still have it
  let found = program.look(all)
  for (let i = 0; i < 10 && !isDeepStrictEqual(found, NOTHING); i++) {
    await setTimeout(200)
    found = program.look(all)
  }
  assert.deepEqual(found, NOTHING)
})

test('the search finds deleted keys of every type where nothing is wiped', async () => {
  const careless = await Program.start({}, CARELESS)
  await careless.obey('warmUp') // else it would use the memory of the same arithmetic after them
  const { all, refs } = await careless.useAll()
  for (const ref of refs) await careless.obey({ forget: ref })
  const { pieces, factored } = careless.look(all)
  await careless.end()
  for (const kind of KINDS) {
    const name = nameOf(kind)
    assert.ok(count(pieces, name, 'bytes') > 0, name)
    if (kind.type !== 'RSA' || !isFast) continue
    assert.ok(count(pieces, name, 'limb') > 0, `${name}: limbs`)
    assert.ok(factored.includes(name), name)
  }
})
