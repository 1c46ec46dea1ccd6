// @test long 40
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'

const onTerminal = needs('script')

const PROMPT = /Unlock passphrase: /
const CTRL_C = '\x03'
const CTRL_U = '\x15'
const BACKSPACE = '\x7f'
// Our prompt is erased, the line printed, the prompt put back.
const ABOVE_PROMPT =
  /\r\p{Cc}\[K(?:info .*\r?\n)*info +access: .*health\/state\r?\n(?:info .*\r?\n)*Unlock passphrase: /u

let program: string
/** A data directory of a provisioned Coffer that was stopped: it starts Locked. */
let template: string
before(async (t) => {
  program = await buildForTests()
  const context = t as TestContext
  template = makeDataDirectory(context)
  const coffer = startCoffer(context, { program, data: template })
  await provision(coffer)
  assert.equal(await coffer.stop(), 0)
})

function provisioned(t: TestContext): string {
  const data = makeDataDirectory(t)
  cpSync(template, data, { recursive: true })
  return data
}

/** At most levels no line of the log comes between what is typed and what is looked for. */
function startLocked(t: TestContext, logLevel = 'warning'): Coffer {
  return startCoffer(t, { program, data: provisioned(t), terminal: true, settings: { COFFER_LOG: logLevel } })
}

test(
  'shows product, version and address, asks, says when it is wrong, and opens when it is right',
  onTerminal,
  async (t) => {
    const coffer = startLocked(t)
    await coffer.see(/^Coffer\r?\nVersion \d+\.\d+\.\d+\r?\nhttps:\/\/127\.0\.0\.1:\d+\r?\nUnlock passphrase: $/m)
    coffer.type('not the passphrase\r')
    await coffer.see(/\r?\nWrong passphrase\.\r?\nUnlock passphrase: /)
    assert.equal(await stateOf(coffer), 'Locked')
    await wait(1000) // the limit on attempts
    coffer.type(`${UNLOCK_PASSPHRASE}\r`)
    await coffer.see(/: Operational\r?\n/)
    assert.equal(await stateOf(coffer), 'Operational')
    assert.equal(await coffer.stop(), 0)
  },
)

test('echoes nothing of a passphrase, whatever its fate, though the terminal itself echoes', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type('wrong-secret\r')
  await coffer.see(PROMPT)
  coffer.type(`unsent-secret${CTRL_U}`)
  await wait(1000)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  coffer.type('typed-while-waiting')
  await coffer.see(/: Operational\r?\n/)
  coffer.type('typed-when-open\r')
  await coffer.see(/typed-when-open/) // the control: without our prompt this terminal does echo
  assert.doesNotMatch(coffer.output(), /secret|unlock passphrase|typed-while-waiting/)
})

test('an empty line asks again, without a word and without an attempt', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type('\r')
  await coffer.see(/^\r?\nUnlock passphrase: $/)
  coffer.type('\n')
  await coffer.see(/^\r?\nUnlock passphrase: $/)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/: Operational/)
})

test('backspace, Ctrl-U and arrow keys edit the line', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type(`mistyped${CTRL_U}\x1b[A${UNLOCK_PASSPHRASE}é${BACKSPACE}\r`)
  await coffer.see(/: Operational/)
})

test('a passphrase of more than 200 bytes is refused as too long', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type(`${'x'.repeat(201)}\r`)
  await coffer.see(/too long: .*200 bytes.*\r?\nUnlock passphrase: /)
})

test('an attempt within a second after a wrong one is refused, as at POST /unlock', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type('not the passphrase\r')
  await coffer.see(/Wrong passphrase[\s\S]*Unlock passphrase: /)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/Too many attempts[\s\S]*Unlock passphrase: /)
  assert.equal(await stateOf(coffer), 'Locked')
  await wait(1000)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/: Operational/)
})

test('Ctrl-C at the prompt stops cleanly', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  const firmware = await coffer.firmwarePid()
  coffer.type(`half a passphrase${CTRL_C}`)
  assert.equal(await coffer.ended, 0)
  assert.throws(() => process.kill(firmware, 0), { code: 'ESRCH' })
})

test('Ctrl-C while open stops cleanly', onTerminal, async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), terminal: true })
  await coffer.see(/: Unprovisioned/)
  coffer.type(CTRL_C)
  assert.equal(await coffer.ended, 0)
})

test('the prompt goes when somebody unlocks through the API, and comes back with a lock', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  coffer.type('half a')
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await coffer.see(/: Operational\r?\n/)
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await coffer.see(PROMPT)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/: Operational\r?\n/)
})

test('lines of the log appear above the prompt, which stays in place', onTerminal, async (t) => {
  const coffer = startLocked(t, 'info')
  await coffer.see(PROMPT)
  coffer.type(UNLOCK_PASSPHRASE.slice(0, 5))
  await expect(200, coffer.call('GET', '/health/state'))
  await coffer.see(ABOVE_PROMPT)
  coffer.type(`${UNLOCK_PASSPHRASE.slice(5)}\r`)
  await coffer.see(/: Operational\r?\n/)
})

test('the prompt comes back after the firmware crashed', onTerminal, async (t) => {
  const coffer = startLocked(t)
  await coffer.see(PROMPT)
  process.kill(await coffer.firmwarePid(), 'SIGKILL')
  await coffer.see(/The firmware ended with SIGKILL\. It is started again in 0\.5 s\./)
  await coffer.see(PROMPT)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/: Operational\r?\n/)
})

test('without a terminal it does not prompt and waits for POST /unlock', async (t) => {
  const coffer = startCoffer(t, { program, data: provisioned(t) })
  await coffer.see(/: Locked, waiting for the passphrase at \/api\/v1\/unlock\n/)
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await coffer.see(/: Operational\n/)
  assert.doesNotMatch(coffer.output(), PROMPT)
  assert.equal(await coffer.stop(), 0)
})

test(
  'an unattended start asks nothing and says so in one line, below the fingerprint of its key',
  onTerminal,
  async (t) => {
    const data = makeDataDirectory(t)
    const first = startCoffer(t, { program, data })
    await provision(first)
    await expect(204, first.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
    await first.stop()
    const coffer = startCoffer(t, { program, data, terminal: true, settings: { COFFER_LOG: 'warning' } })
    await coffer.see(/started unattended, Operational\r?\n/)
    assert.match(
      coffer.output(),
      /^TLS key sha256\S+\r?\nCoffer \d+\.\d+\.\d+ at https:\S+: started unattended, Operational\r?\n$/,
    )
    assert.equal(await stateOf(coffer), 'Operational')
  },
)
