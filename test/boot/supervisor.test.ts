import assert from 'node:assert/strict'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Early, type FirmwareCommand, launchEarly } from '../../boot/supervisor/firmware-process.ts'
import { createSupervisor, type ProcessTimeouts, type Supervisor } from '../../boot/supervisor/supervisor.ts'
import type { ToBoot } from '../../firmware/channel/protocol.ts'
import { smallFirmware } from './small-firmware.ts'

const QUICK: ProcessTimeouts = {
  restartMs: 40,
  restartMsMax: 160,
  steadyMs: 60_000,
  pingMs: 100,
  silenceMsMax: 60_000,
  stopMsMax: 5_000,
}

const DEADLINE_MS = 20_000

interface Scene {
  supervisor: Supervisor
  messages: ToBoot[]
  crashes: string[]
  lines: string[]
  store: string
  deviceKey: Uint8Array
  until(condition: () => boolean): Promise<void>
}

/** A supervisor of a small firmware, given as source text. */
function stage(
  t: TestContext,
  source: string,
  timeouts: Partial<ProcessTimeouts> = {},
  earlyFor: (command: FirmwareCommand) => Early | null = () => null,
): Scene {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-supervisor-'))
  const program = join(directory, 'program')
  const store = join(directory, 'store')
  mkdirSync(program)
  mkdirSync(store)
  writeFileSync(join(program, 'package.json'), '{"type":"module"}')
  writeFileSync(join(program, 'firmware.js'), smallFirmware(source))
  const lock = openSync(join(directory, 'lock'), 'a')
  const deviceKey = new Uint8Array(32).fill(7)
  const [messages, crashes, lines]: [ToBoot[], string[], string[]] = [[], [], []]
  const command = {
    serves: 'firmware' as const,
    launcher: [],
    program: join(program, 'firmware.js'),
    readable: [`${program}/`],
    storeDirectory: store,
    heapMegabytes: 64,
  }
  const supervisor = createSupervisor({
    command: () => command,
    lock,
    early: earlyFor(command),
    startMessage: () => ({
      type: 'start',
      settings: {
        dataDirectory: store,
        host: '127.0.0.1',
        port: 0,
        httpPort: null,
        logLevel: 'info',
        releaseKey: null,
      },
      deviceKey,
      software: { trial: false, fallback: null },
    }),
    onMessage: (message) => messages.push(message),
    onCrash: (explanation) => crashes.push(explanation),
    onLines: (more) => lines.push(...more),
    timeouts: { ...QUICK, ...timeouts },
  })
  t.after(async () => {
    await supervisor.stop()
    closeSync(lock)
    rmSync(directory, { recursive: true })
  })
  const until = async (condition: () => boolean) => {
    const deadline = Date.now() + DEADLINE_MS
    while (!condition()) {
      assert.ok(Date.now() < deadline, `nothing came: ${JSON.stringify({ messages, crashes, lines })}`)
      await wait(10)
    }
  }
  return { supervisor, messages, crashes, lines, store, deviceKey, until }
}

const OBEDIENT = `
  process.on('message', (message) => {
    if (message.type === 'ping') process.send({ type: 'pong' })
    else if (message.type === 'stop') { console.log('stopping'); process.exit(0) }
    else console.log(JSON.stringify(message))
  })`

test('hands over the start message and the passphrase as bytes, and wipes them', async (t) => {
  const { supervisor, lines, store, deviceKey, until } = stage(t, OBEDIENT)
  supervisor.start()
  const passphrase = Uint8Array.of(1, 2, 3)
  supervisor.unlock(passphrase)
  assert.deepEqual(passphrase, new Uint8Array(3))
  assert.deepEqual(deviceKey, new Uint8Array(32))
  await until(() => lines.length === 2)
  assert.deepEqual(JSON.parse(lines[0]!), {
    type: 'start',
    settings: { dataDirectory: store, host: '127.0.0.1', port: 0, httpPort: null, logLevel: 'info', releaseKey: null },
    software: { trial: false, fallback: null },
    deviceKey: Object.fromEntries(Array.from({ length: 32 }, (_, i) => [i, 7])),
  })
  assert.deepEqual(JSON.parse(lines[1]!), { type: 'unlock', passphrase: { 0: 1, 1: 2, 2: 3 } })
})

test('asks for a clean end and does not take it for a crash', async (t) => {
  const { supervisor, lines, crashes, until } = stage(t, OBEDIENT)
  supervisor.start()
  await until(() => lines.length === 1)
  assert.equal(await supervisor.stop(), true)
  assert.equal(lines.at(-1), 'stopping')
  assert.deepEqual(crashes, [])
})

const TELLS_ITSELF = `
  process.on('message', (message) => {
    if (message.type === 'start') console.log(process.pid)
    else if (message.type === 'stop') process.exit(0)
  })`

test('goes on with the firmware that was started ahead of time, once', async (t) => {
  let early: Early | null = null
  const { supervisor, lines, crashes, until } = stage(t, TELLS_ITSELF, {}, (command) => {
    early = launchEarly(command)
    return early
  })
  supervisor.start()
  await until(() => lines.length === 1)
  assert.equal(lines[0], String(early!.process.pid))
  assert.equal(await supervisor.stop(), true)
  supervisor.start()
  await until(() => lines.length === 2)
  assert.notEqual(lines[1], lines[0])
  assert.deepEqual(crashes, [])
})

test('ends one that was started otherwise, and starts anew when one has ended', async (t) => {
  for (const end of ['other', 'ended'] as const) {
    let early: Early | null = null
    const { supervisor, lines, crashes, until } = stage(t, TELLS_ITSELF, {}, (command) => {
      early = launchEarly(end === 'other' ? { ...command, heapMegabytes: 65 } : { ...command, program: '/nowhere.js' })
      return early
    })
    if (end === 'ended') await until(() => early!.process.exitCode !== null)
    supervisor.start()
    await until(() => lines.length === 1)
    assert.notEqual(lines[0], String(early!.process.pid))
    await until(() => (early!.process.exitCode ?? early!.process.signalCode) !== null)
    assert.equal(early!.process.signalCode, end === 'other' ? 'SIGKILL' : null)
    assert.deepEqual(crashes, [])
  }
})

test('kills a firmware that does not end when asked', async (t) => {
  const { supervisor, lines, crashes, until } = stage(t, `process.on('message', () => console.log('no'))`, {
    stopMsMax: 200,
  })
  supervisor.start()
  await until(() => lines.length > 0)
  assert.equal(await supervisor.stop(), false)
  assert.deepEqual(crashes, [])
})

test('can start again after a stop', async (t) => {
  const { supervisor, lines, until } = stage(t, OBEDIENT)
  supervisor.start()
  await supervisor.stop()
  supervisor.start()
  await until(() => lines.filter((line) => line.startsWith('{')).length >= 1 && lines.at(-1) !== 'stopping')
})

test('restarts a firmware that crashes, each time later up to a bound, and never gives up', async (t) => {
  const { supervisor, crashes, until } = stage(t, `console.log('starting'); process.exit(3)`)
  supervisor.start()
  const delayOf = (crash: string) => Number(/again in ([\d.]+) s/.exec(crash)?.[1])
  await until(() => crashes.length === 6)
  assert.deepEqual(crashes.map(delayOf), [0.04, 0.08, 0.16, 0.16, 0.16, 0.16])
  assert.match(crashes[0]!, /^The firmware ended with exit code 3\./)
  assert.match(crashes[5]!, /6 times in a row/)
})

test('waits the time it says before the next start', async (t) => {
  const { supervisor, crashes, lines, until } = stage(t, `console.log(Date.now()); process.exit(3)`, {
    restartMs: 700,
    restartMsMax: 700,
  })
  supervisor.start()
  await until(() => crashes.length === 3)
  const times = lines.map(Number)
  for (let i = 1; i < times.length; i++) assert.ok(times[i]! - times[i - 1]! >= 700, times.join())
})

test('a firmware that ran steadily has its crashes forgiven', async (t) => {
  const { supervisor, crashes, until } = stage(t, 'setTimeout(() => process.exit(3), 150)', { steadyMs: 100 })
  supervisor.start()
  await until(() => crashes.length === 3)
  for (const crash of crashes) assert.match(crash, /again in 0\.04 s/)
})

test('a stop while waiting for the next start leaves nothing running', async (t) => {
  const { supervisor, crashes, lines, until } = stage(t, `console.log('starting'); process.exit(3)`, { restartMs: 200 })
  supervisor.start()
  await until(() => crashes.length === 1)
  assert.equal(await supervisor.stop(), true)
  await wait(400)
  assert.equal(lines.length, 1)
})

test('kills and restarts a firmware that hangs', async (t) => {
  const { supervisor, crashes, lines, until } = stage(t, `process.on('message', () => { for (;;); })`, {
    silenceMsMax: 500,
  })
  supervisor.start()
  await until(() => crashes.length === 1)
  assert.match(lines[0]!, /has not answered/)
  assert.match(crashes[0]!, /ended with SIGKILL/)
})

test('does not take a firmware that answers pings for hung', async (t) => {
  const { supervisor, crashes } = stage(t, OBEDIENT, { silenceMsMax: 2000 })
  supervisor.start()
  await wait(5000)
  assert.deepEqual(crashes, [])
})

test('passes on messages of the protocol and drops others', async (t) => {
  const source = `process.on('message', () => {})
    for (const message of [{ type: 'state', state: 'Open' }, 'x', { type: 'state', state: 'Locked' }]) process.send(message)`
  const { supervisor, messages, until } = stage(t, source, { stopMsMax: 100 })
  supervisor.start()
  await until(() => messages.length > 0)
  assert.deepEqual(messages, [{ type: 'state', state: 'Locked' }])
})

test('the firmware gets nothing but its program, its store, network, threads and addons', async (t) => {
  const source = `
    import { spawnSync } from 'node:child_process'
    import { once } from 'node:events'
    import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
    import { createServer } from 'node:net'
    import inspector from 'node:inspector'
    import { Worker } from 'node:worker_threads'
    process.on('message', ({ type }) => type === 'stop' && process.exit())
    const [start] = await once(process, 'message')
    const store = start.settings.dataDirectory
    const attempt = async (name, action) => {
      try { await action(); console.log(name + ': allowed') } catch (error) { console.log(name + ': ' + error.code) }
    }
    await attempt('read a system file', () => readFileSync('/etc/passwd'))
    await attempt('list beside the store', () => readdirSync(store + '/..'))
    await attempt('read beside the store', () => readFileSync(store + '/../lock'))
    await attempt('write beside the store', () => writeFileSync(store + '/../x', ''))
    await attempt('change the program', () => writeFileSync(import.meta.filename, ''))
    await attempt('start a process', () => spawnSync('/bin/true'))
    await attempt('open the debugger', () => inspector.open(0))
    await attempt('write to the store', () => writeFileSync(store + '/x', ''))
    await attempt('read from the store', () => readFileSync(store + '/x'))
    await attempt('listen', () => new Promise((done) => createServer().listen(0, '127.0.0.1', done)))
    await attempt('start a thread', () => new Promise((done) => new Worker('', { eval: true }).on('exit', done)))
    console.log('environment: ' + Object.keys(process.env))
    console.log('end')`
  process.env.SECRET_OF_THE_SHELL = 'x'
  t.after(() => delete process.env.SECRET_OF_THE_SHELL)
  const { supervisor, lines, until } = stage(t, source)
  supervisor.start()
  await until(() => lines.includes('end'))
  assert.deepEqual(lines, [
    'read a system file: ERR_ACCESS_DENIED',
    'list beside the store: ERR_ACCESS_DENIED',
    'read beside the store: ERR_ACCESS_DENIED',
    'write beside the store: ERR_ACCESS_DENIED',
    'change the program: ERR_ACCESS_DENIED',
    'start a process: ERR_ACCESS_DENIED',
    'open the debugger: ERR_ACCESS_DENIED',
    'write to the store: allowed',
    'read from the store: allowed',
    'listen: allowed',
    'start a thread: allowed',
    'environment: GLIBC_TUNABLES',
    'end',
  ])
})
