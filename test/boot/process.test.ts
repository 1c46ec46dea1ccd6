// @test short 40
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, ADMIN_PASSPHRASE, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { pauseProcess } from '../support/proc.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'

const SOURCES = join(import.meta.dirname, '../../boot/main.ts')
const BUILD = join(import.meta.dirname, '../../tools/build.ts')

let program: string
before(async () => {
  program = await buildForTests()
})

const unlock = (coffer: Coffer) =>
  expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('the first start reaches Unprovisioned', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  assert.equal(await stateOf(coffer), 'Unprovisioned')
})

test('runs from its sources, too', async (t) => {
  const coffer = startCoffer(t, { program: SOURCES, data: makeDataDirectory(t) })
  assert.equal(await stateOf(coffer), 'Unprovisioned')
  await provision(coffer)
  assert.equal(await coffer.stop(), 0)
})

test('the same sources bundle to the same bytes', (t) => {
  const again = makeDataDirectory(t)
  const { status, stderr } = spawnSync(process.execPath, [BUILD, again], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const digests = (directory: string) =>
    readdirSync(directory).map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(directory, file)))
        .digest('hex'),
    ])
  assert.deepEqual(digests(again), digests(dirname(program)))
})

test('SIGTERM stops cleanly: exit code 0, the log checkpointed, nothing left running', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data })
  await provision(coffer)
  const firmware = await coffer.firmwarePid()
  assert.equal(await coffer.stop(), 0)
  assert.equal(isAlive(firmware), false)
  const files = readdirSync(join(data, 'store'))
  assert.ok(files.some((file) => file.endsWith('.db')))
  for (const file of files) {
    if (file.endsWith('-wal')) assert.equal(statSync(join(data, 'store', file)).size, 0)
  }
})

test('SIGINT stops cleanly', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  await stateOf(coffer)
  process.kill(coffer.bootPid(), 'SIGINT')
  assert.equal(await coffer.ended, 0)
})

test('a stop while a firmware is starting is a stop', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  const firmware = await coffer.firmwarePid()
  process.kill(coffer.bootPid(), 'SIGTERM')
  assert.equal(await coffer.ended, 0)
  assert.equal(isAlive(firmware), false)
})

test('a firmware that is killed comes back, Locked, with everything it had', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  await provision(coffer)
  const key = { id: 'survivor', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const killed = await coffer.firmwarePid()
  process.kill(killed, 'SIGKILL')
  await coffer.see(/The firmware ended with SIGKILL\. It is started again in 0\.5 s\./)
  await coffer.see(/: Locked/)
  assert.notEqual(await coffer.firmwarePid(), killed)
  await unlock(coffer)
  await expect(200, coffer.call('GET', '/keys/survivor', { as: ADMIN }))
})

test('the firmware ends when the boot manager is killed, and the next one takes over at once', async (t) => {
  const data = makeDataDirectory(t)
  const first = startCoffer(t, { program, data })
  await provision(first)
  await first.kill()
  const second = startCoffer(t, { program, data })
  assert.equal(await stateOf(second), 'Locked')
  await unlock(second)
})

test('a second boot manager on the same data directory is refused, and the first is not disturbed', async (t) => {
  const data = makeDataDirectory(t)
  const first = startCoffer(t, { program, data })
  await stateOf(first)
  const second = startCoffer(t, { program, data })
  assert.equal(await second.ended, 1)
  assert.equal(second.output(), `Coffer does not start: another Coffer is running on ${data}.\n`)
  assert.equal(await stateOf(first), 'Unprovisioned')
})

test('a taken port is said once, and is no reason to try for ever', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_PORT: String(port) } })
  assert.equal(await coffer.ended, 1)
  const refusal = `Coffer does not start: port ${port} at 127.0.0.1 is in use; COFFER_PORT chooses another.\n`
  assert.ok(coffer.output().endsWith(refusal), coffer.output())
  assert.doesNotMatch(coffer.output(), /started again/)
})

test('an address of another machine is refused', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_HOST: '192.0.2.1' } })
  assert.equal(await coffer.ended, 1)
  assert.match(coffer.output(), /192\.0\.2\.1 is not an address of this machine; COFFER_HOST chooses another/)
})

test('a misspelt setting is refused by name before anything is made', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data, settings: { COFFER_PROT: '8443' } })
  assert.equal(await coffer.ended, 1)
  assert.match(coffer.output(), /^Coffer does not start: COFFER_PROT is not a setting; /)
  assert.deepEqual(readdirSync(data), [])
})

test('no secret is in the arguments, the environment or the output of either process', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data, settings: { COFFER_LOG: 'debug' } })
  await provision(coffer)
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await expect(403, coffer.call('POST', '/unlock', { json: { passphrase: 'mistaken passphrase' } }))
  await wait(1000)
  await unlock(coffer)
  const deviceKey = readFileSync(join(data, 'device.key'))
  const secrets = [
    UNLOCK_PASSPHRASE,
    ADMIN_PASSPHRASE,
    'mistaken passphrase',
    Buffer.from(ADMIN).toString('base64'),
    deviceKey.toString('hex'),
    deviceKey.toString('base64'),
    deviceKey.toString('latin1'),
  ]
  const places = [coffer.bootPid(), await coffer.firmwarePid()].flatMap((pid) =>
    ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1')),
  )
  for (const text of [...places, coffer.output()]) {
    for (const secret of secrets) assert.ok(!text.includes(secret), `a secret is in: ${text}`)
  }
  assert.match(coffer.output(), /request POST \/api\/v1\/unlock/) // the control: the log was on
})

test('neither process would leave its memory in a core file', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  for (const pid of [coffer.bootPid(), await coffer.firmwarePid()]) {
    await stateOf(coffer)
    assert.equal(readFileSync(`/proc/${pid}/coredump_filter`, 'latin1').trim(), '00000000')
  }
})

test('a core file of the firmware holds none of its memory', async (t) => {
  const pattern = readFileSync('/proc/sys/kernel/core_pattern', 'latin1').trim()
  if (pattern !== 'core') return t.skip(`core files go elsewhere here: ${pattern}`)
  const data = makeDataDirectory(t)
  // As if the machine allowed core files of any size: Coffer inherits what is ours.
  const raised = spawnSync('prlimit', ['--pid', String(process.pid), '--core=unlimited'])
  if (raised.status !== 0) return t.skip('core files cannot be allowed here')
  const coffer = startCoffer(t, { program, data })
  await provision(coffer)
  process.kill(await coffer.firmwarePid(), 'SIGSEGV')
  await coffer.see(/The firmware ended with SIGSEGV/)
  const core = readdirSync(join(data, 'store')).find((file) => file.startsWith('core'))
  assert.ok(core, 'the control: a core file was written')
  assert.ok(statSync(join(data, 'store', core)).size < 2_000_000, 'the firmware has 60 MB and more')
  assert.ok(!readFileSync(join(data, 'store', core)).includes(readFileSync(join(data, 'device.key'))))
})

test('the firmware alone says who starts it', async () => {
  const child = spawn(process.execPath, [join(dirname(program), 'firmware.js')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  assert.equal(await new Promise((resolve) => child.on('close', resolve)), 2)
  assert.match(said, /the boot manager starts it: make run/)
})

test('a factory reset is answered once it is sure to happen, whatever happens to the power', async (t) => {
  const data = makeDataDirectory(t)
  const first = startCoffer(t, { program, data })
  await provision(first)
  await pauseProcess(first.bootPid()) // so that nothing is noted
  const reset = first.call('POST', '/system/factory-reset', { as: ADMIN }).then(
    ({ status }) => status,
    () => 'no answer',
  )
  assert.equal(await Promise.race([reset, wait(1000, 'none yet')]), 'none yet')
  await first.kill(true)
  assert.equal(await reset, 'no answer')

  const second = startCoffer(t, { program, data })
  assert.equal(await stateOf(second), 'Locked')
  await unlock(second)
  await expect(204, second.call('POST', '/system/factory-reset', { as: ADMIN }))
  await second.kill(true)
  const third = startCoffer(t, { program, data })
  assert.equal(await stateOf(third), 'Unprovisioned')
})
