/** Versions in slots: trial, fallback, damage, and what a power cut leaves. */

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { archive, goodManifest, head, INSTALLED, inPieces, PAYLOAD } from './archives.ts'
import { openRig, type Rig } from './rig.ts'

async function install(rig: Rig, version = '1.3.0'): Promise<void> {
  const image = archive([...head({ ...goodManifest(), version }), ...PAYLOAD])
  await rig.stager.stage(inPieces(image).chunks)
  await rig.stager.commit()
}

async function installed(t: TestContext, version = '1.3.0'): Promise<Rig> {
  const rig = openRig(t)
  await install(rig, version)
  return rig
}

const records = ({ store }: Rig) => readFileSync(join(store, 'records'), 'utf8')

test('without updates the own version runs, and nothing is written', (t) => {
  const { slots, directory } = openRig(t)
  assert.deepEqual(slots.choose(), {
    version: INSTALLED,
    program: 'own.js',
    readable: ['own/'],
    trial: false,
    counted: false,
    fallback: null,
  })
  assert.deepEqual(readdirSync(directory), ['store'])
})

test('a committed version is tried at the next start from its own directory, and runs on once it is good', async (t) => {
  const rig = await installed(t)
  const tried = rig.reopen().choose()
  const slot = join(rig.directory, 'slots/1')
  assert.deepEqual(tried, {
    version: '1.3.0',
    program: join(slot, 'firmware.js'),
    readable: [`${slot}/`],
    trial: true,
    counted: false,
    fallback: null,
  })
  const slots = rig.reopen()
  slots.choose()
  slots.markGood()
  for (const { trial, version, fallback } of [slots.choose(), rig.reopen().choose()])
    assert.deepEqual([trial, version, fallback], [false, '1.3.0', null])
  assert.deepEqual(readdirSync(rig.directory).sort(), ['slots', 'store'])
})

test('a version that never becomes good has three tries, then the one before runs, and says why', async (t) => {
  const rig = await installed(t)
  for (let n = 1; n <= 3; n++) {
    const slots = rig.reopen()
    assert.equal(slots.choose().trial, true, `try ${n}`)
    writeFileSync(join(rig.store, 'records'), `touched by try ${n}`)
    slots.noteFailure(`it crashed ${n} times`)
  }
  const back = rig.reopen().choose()
  assert.deepEqual([back.trial, back.version], [false, INSTALLED])
  assert.equal(back.fallback, 'Version 1.3.0 was rolled back: it crashed 3 times')
  assert.equal(records(rig), 'as before')
  assert.deepEqual(readdirSync(rig.directory).sort(), ['slots', 'store'])
  assert.deepEqual(rig.files(), ['state.json'])
  assert.equal(rig.reopen().choose().fallback, back.fallback)
})

test('a power cut costs a try without a reason of its own', async (t) => {
  const rig = await installed(t)
  for (let n = 0; n < 3; n++) rig.reopen().choose()
  assert.match(rig.reopen().choose().fallback!, /rolled back: it did not become ready$/)
})

test('what a version wrote is kept once it is good', async (t) => {
  const rig = await installed(t)
  const slots = rig.reopen()
  slots.choose()
  writeFileSync(join(rig.store, 'records'), 'migrated')
  slots.markGood()
  rig.reopen().choose()
  assert.equal(records(rig), 'migrated')
})

test('updates take turns in two slots, and never touch the one that runs', async (t) => {
  const rig = openRig(t)
  for (const [version, slot] of [
    ['1.3.0', '1'],
    ['1.4.0', '2'],
    ['1.5.0', '1'],
  ] as const) {
    const running = rig.slots.choose()
    const before = running.program === 'own.js' ? null : readFileSync(running.program)
    await install(rig, version)
    if (before !== null) assert.deepEqual(readFileSync(running.program), before)
    assert.match(rig.slots.choose().program, new RegExp(`slots/${slot}/firmware.js$`))
    rig.slots.markGood()
  }
  assert.equal(rig.reopen().choose().version, '1.5.0')
})

test('a failed update of an update falls back to the slot that ran, not to the own version', async (t) => {
  const rig = await installed(t)
  rig.slots.choose()
  rig.slots.markGood()
  await install(rig, '1.4.0')
  for (let n = 0; n < 3; n++) assert.equal(rig.slots.choose().version, '1.4.0')
  const back = rig.slots.choose()
  assert.deepEqual([back.version, back.trial], ['1.3.0', false])
  assert.match(back.fallback!, /^Version 1.4.0 was rolled back/)
  await install(rig, '1.4.1')
  assert.equal(rig.slots.choose().version, '1.4.1')
})

test('nothing is begun while the running version is on trial', async (t) => {
  const rig = await installed(t)
  rig.slots.choose()
  await assert.rejects(install(rig), /still on trial/)
  rig.slots.markGood()
  await install(rig, '1.4.0')
})

test('a restart drops what is pending and what was left of an upload', async (t) => {
  const rig = openRig(t)
  await rig.stager.stage(inPieces(archive([...head(goodManifest()), ...PAYLOAD])).chunks)
  assert.equal(rig.reopen().choose().version, INSTALLED)
  assert.deepEqual(rig.files(), [])
})

const DAMAGES: [what: string, damage: (slot: string) => void, problem: RegExp][] = [
  [
    'a changed byte',
    (slot) => writeFileSync(join(slot, 'firmware.js'), 'console.log("nex")\n'),
    /was not stored as it was sent/,
  ],
  ['a truncated file', (slot) => writeFileSync(join(slot, 'firmware.js'), ''), /has 0 bytes on disk instead of/],
  ['a missing file', (slot) => rmSync(join(slot, 'firmware.js')), /does not contain the files/],
  ['another file', (slot) => writeFileSync(join(slot, 'preload.js'), ''), /does not contain the files/],
  ['a changed manifest', (slot) => writeFileSync(join(slot, 'manifest.json'), '{}'), /is not signed/],
  ['no signature', (slot) => rmSync(join(slot, 'manifest.sig')), /a file is missing/],
  ['nothing left', (slot) => rmSync(slot, { recursive: true }), /a file is missing/],
  [
    'a link out of the slot',
    (slot) => {
      rmSync(join(slot, 'firmware.js'))
      symlinkSync('/dev/null', join(slot, 'firmware.js'))
    },
    /has 0 bytes on disk/,
  ],
]

for (const [what, damage, problem] of DAMAGES) {
  test(`a version with ${what} is not run, neither on trial nor later`, async (t) => {
    const onTrial = await installed(t)
    damage(join(onTrial.directory, 'slots/1'))
    const first = onTrial.reopen().choose()
    assert.deepEqual([first.version, first.trial], [INSTALLED, false])
    assert.match(first.fallback!, problem)

    const good = await installed(t)
    good.slots.choose()
    good.slots.markGood()
    damage(join(good.directory, 'slots/1'))
    const later = good.reopen().choose()
    assert.deepEqual([later.version, later.trial], [INSTALLED, false])
    assert.match(later.fallback!, problem)
  })
}

test('a bundle of another version, installed by hand, goes before the slots', async (t) => {
  const rig = await installed(t)
  rig.slots.choose()
  rig.slots.markGood()
  assert.equal(rig.reopen('1.9.0').choose().version, '1.9.0')
  assert.equal(rig.reopen('1.9.0').choose().version, '1.9.0')
  assert.deepEqual(rig.files(), ['state.json'])
})

test('a bundle installed by hand during a trial ends it, and finds the store as it was', async (t) => {
  const rig = await installed(t)
  rig.slots.choose()
  writeFileSync(join(rig.store, 'records'), 'touched')
  const own = rig.reopen('1.9.0').choose()
  assert.equal(own.version, '1.9.0')
  assert.match(own.fallback!, /version 1.9.0 was installed/)
  assert.equal(records(rig), 'as before')
})

test('a damaged record of the slots leads to the own version', async (t) => {
  const rig = await installed(t)
  for (const text of ['', '{', '{"active":7}', 'null']) {
    writeFileSync(join(rig.directory, 'slots/state.json'), text)
    const { version, fallback } = rig.reopen().choose()
    assert.equal(version, INSTALLED)
    assert.match(fallback!, /is damaged/)
  }
})

test('a fallback that a power cut interrupts is finished at the next start', async (t) => {
  const prepare = async () => {
    const rig = await installed(t)
    for (let n = 0; n < 3; n++) rig.reopen().choose()
    writeFileSync(join(rig.store, 'records'), 'touched')
    return rig
  }
  // After the first rename: no store, only the copy.
  const first = await prepare()
  cpSync(first.store, `${first.store}.left`, { recursive: true })
  rmSync(first.store, { recursive: true })
  first.reopen().choose()
  assert.equal(records(first), 'as before')
  // The host made an empty store before it looked.
  const second = await prepare()
  for (const name of readdirSync(second.store)) rmSync(join(second.store, name))
  second.reopen().choose()
  assert.equal(records(second), 'as before')
  // The store is back, its record is not yet written.
  const third = await prepare()
  const state = readFileSync(join(third.directory, 'slots/state.json'))
  third.reopen().choose()
  writeFileSync(join(third.directory, 'slots/state.json'), state)
  assert.match(third.reopen().choose().fallback!, /was rolled back|A version/)
  assert.equal(records(third), 'as before')
  for (const { directory } of [first, second, third])
    assert.deepEqual(readdirSync(directory).sort(), ['slots', 'store'])
})

test('a try that could not be counted leaves the store as it was, also when a power cut interrupts that', async (t) => {
  const rig = await installed(t)
  cpSync(rig.store, `${rig.store}.before-trial`, { recursive: true })
  cpSync(rig.store, `${rig.store}.left`, { recursive: true })
  rmSync(join(rig.store, 'records')) // the host made an empty store before it looked
  assert.equal(rig.reopen().choose().trial, true)
  assert.equal(records(rig), 'as before')
})

test('a copy that a power cut interrupted is not taken for one', async (t) => {
  const rig = await installed(t)
  cpSync(rig.store, `${rig.store}.before-trial.new`, { recursive: true })
  writeFileSync(join(`${rig.store}.before-trial.new`, 'records'), 'half')
  for (let n = 0; n < 4; n++) rig.reopen().choose()
  assert.equal(records(rig), 'as before')
  assert.equal(existsSync(`${rig.store}.before-trial.new`), false)
})

/** Writing the record fails like on a full disk, until it is undone. */
function breakRecord({ directory }: Rig): () => void {
  const inTheWay = join(directory, 'slots/state.json.new')
  mkdirSync(inTheWay)
  return () => rmSync(inTheWay, { recursive: true, force: true })
}

test('when the record cannot be written, a commit is refused and stays possible', async (t) => {
  const rig = openRig(t)
  await rig.stager.stage(inPieces(archive([...head(goodManifest()), ...PAYLOAD])).chunks)
  mkdirSync(join(rig.directory, 'slots'), { recursive: true })
  const repair = breakRecord(rig)
  await assert.rejects(rig.stager.commit(), /the disk failed: EISDIR/)
  repair()
  await rig.stager.commit()
  assert.equal(rig.slots.choose().trial, true)
})

test('when a try cannot be counted the version is left, and what is written afterwards stays', async (t) => {
  const rig = await installed(t)
  assert.equal(rig.slots.choose().trial, true)
  const repair = breakRecord(rig)
  const running = rig.slots.choose()
  assert.deepEqual([running.trial, running.version], [false, INSTALLED])
  assert.match(running.fallback!, /could not start its trial: the disk failed/)
  repair()
  writeFileSync(join(rig.store, 'records'), 'written meanwhile')
  const next = rig.reopen()
  for (let n = 0; n < 2; n++) {
    assert.equal(next.choose().trial, false)
    assert.equal(records(rig), 'written meanwhile')
  }
})

test('a version whose end of trial cannot be recorded is not good', async (t) => {
  const rig = await installed(t)
  rig.slots.choose()
  const repair = breakRecord(rig)
  assert.throws(() => rig.slots.markGood())
  repair()
  assert.equal(rig.reopen().choose().trial, true)
})
