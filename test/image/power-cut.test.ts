// @test device 180
/** The plug is pulled while clients create and delete keys. Every answered change must hold. */

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bundle } from '../../tools/build.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { request } from '../support/client.ts'
import { type Appliance, onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory } from './images.ts'
import { cutPower, type Recording, record } from './power-cuts.ts'

const CUTS = 300
const CONTROL_CUTS = 100
const KEYS = 80
const DELETED_MIN = 10 // of the third that is to be expected
const CLIENTS = 3
const DELETE_ONE_IN = 3
const timeoutMs = 180_000 // on a busy computer

/** History of one key. Times are lengths of the log of writes. */
interface Life {
  id: string
  createAsked: number
  createAnswered: number
  deleteAsked: number
  deleteAnswered: number
}

const NEVER = Number.POSITIVE_INFINITY

test(`no answered change is lost or undone by ${CUTS} power cuts`, onMachines(), async (t) => {
  const recording = await recordKeys(t, await buildImage())
  assert.deepEqual(await cut(t, recording, CUTS), [])
})

test('the control: with weaker syncing, answered changes are lost', onMachines(), async (t) => {
  const weaker = makeDirectory(t)
  await bundle(weaker)
  const firmware = join(weaker, 'firmware.js')
  const strict = readFileSync(firmware, 'utf8')
  assert.equal(strict.split('synchronous = FULL').length, 2)
  writeFileSync(firmware, strict.replace('synchronous = FULL', 'synchronous = NORMAL'))
  const recording = await recordKeys(t, await buildImage({ bundle: weaker }))
  const bad = await cut(t, recording, CONTROL_CUTS)
  t.diagnostic(`${bad.length} of ${CONTROL_CUTS} cuts lost something`)
  assert.ok(bad.length > 0)
  assert.ok(
    bad.every((what) => /is gone|is back/.test(what)),
    bad.join('\n'),
  )
})

async function recordKeys(t: TestContext, image: Image): Promise<Recording<Life[]>> {
  const lives: Life[] = []
  const recording = await record(t, image, async (appliance, position) => {
    await Promise.all(Array.from({ length: CLIENTS }, () => work(appliance, lives, position)))
    return lives
  })
  const answered = lives.filter((life) => life.deleteAnswered < NEVER).length
  t.diagnostic(`${lives.length} keys made, ${answered} deleted`)
  assert.ok(answered >= DELETED_MIN)
  return recording
}

async function work(appliance: Appliance, lives: Life[], position: () => number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const target = { host: '127.0.0.1', port: appliance.apiPort, agent }
  try {
    while (lives.length < KEYS) {
      const id = `key-${lives.length}`
      const life: Life = {
        id,
        createAsked: position(),
        createAnswered: NEVER,
        deleteAsked: NEVER,
        deleteAnswered: NEVER,
      }
      lives.push(life)
      const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: `label of ${id}` }
      await expect(201, request(target, 'POST', '/api/v1/keys/generate', { as: ADMIN, json, timeoutMs }))
      life.createAnswered = position()
      if (randomInt(DELETE_ONE_IN) !== 0) continue
      life.deleteAsked = position()
      await expect(204, request(target, 'DELETE', `/api/v1/keys/${id}`, { as: ADMIN, timeoutMs }))
      life.deleteAnswered = position()
    }
  } finally {
    agent.destroy()
  }
}

const cut = (t: TestContext, recording: Recording<Life[]>, cuts: number): Promise<string[]> =>
  cutPower(t, recording, cuts, (appliance, cutAt) => {
    if (appliance.state !== 'Operational') return 'unattended boot was answered and is gone'
    const { keys } = appliance.open()
    const ids = keys.list('', {})
    for (const id of ids) assert.equal(keys.get('', id).label, `label of ${id}`)
    return judge(new Set(ids), recording.result, cutAt)
  })

/** Compares the keys found with what had been asked and answered when the power went. */
function judge(found: Set<string>, lives: Life[], cutAt: number): string | null {
  for (const { id, createAsked, createAnswered, deleteAsked, deleteAnswered } of lives) {
    if (found.has(id)) {
      if (deleteAnswered <= cutAt) return `${id} was deleted and is back`
      if (createAsked >= cutAt) return `${id} is there before anybody asked for it`
    } else if (createAnswered <= cutAt && deleteAsked >= cutAt) {
      return `${id} was answered and is gone`
    }
  }
  return null
}
