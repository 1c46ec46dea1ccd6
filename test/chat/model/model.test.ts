// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CAPABILITIES } from '../../../firmware/chat/events/shapes.ts'
import { type Capabilities, ModelClient } from './client.ts'
import { OPERATION_NAMES } from './operations.ts'
import { run } from './run.ts'

/** In all; each run has one set of capabilities. */
const OPERATIONS = process.env.COFFER_SLOW === undefined ? 600 : 10_000

const all = (on: boolean): Capabilities => Object.fromEntries(CAPABILITIES.map((name) => [name, on]))
const SETS: [name: string, capabilities: Capabilities, isLimited: boolean][] = [
  ['all', all(true), false],
  ['none', all(false), false],
  ['all, guests limited', all(true), true],
  ['none, guests limited', all(false), true],
  ...(process.env.COFFER_SLOW === undefined ? ['archived_channels', 'empty_topic_name'] : CAPABILITIES).flatMap(
    (name): [string, Capabilities, boolean][] => [[`all but ${name}`, { ...all(true), [name]: false }, false]],
  ),
]

const tried = new Set<string>()

const seed = Number(process.env.COFFER_SEED ?? 300)

SETS.forEach(([name, capabilities, isLimited], index) => {
  test(`what a client is told adds up to what it would be told anew; capabilities: ${name}`, async () => {
    const world = await run({
      seed: seed + index,
      operations: OPERATIONS / SETS.length,
      isLimited,
      registration: { client_capabilities: capabilities, include_subscribers: true, slim_presence: true },
      withBot: true,
      create: (snapshot) => {
        const model = new ModelClient(snapshot, capabilities)
        return {
          apply: (event) => model.apply(event),
          differences: (now, isCompared) => {
            for (const state of [now, model.state]) state.starred_messages = state.starred_messages.filter(isCompared)
            return model.differences(now)
          },
        }
      },
    })
    for (const name of [...world.done.keys(), ...world.refused.keys()]) tried.add(name)
  })
})

if (OPERATIONS >= 10_000)
  test('every operation was tried', () => {
    assert.deepEqual(
      OPERATION_NAMES.filter((name) => !tried.has(name)),
      [],
    )
  })
