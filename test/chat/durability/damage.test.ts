// @test long 30 slow
/** Changes made on the disk behind the chat are detected and reported, in both databases and their logs. */

import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Commits, DATABASES, type DatabaseName } from '../../../firmware/chat/store/store.ts'
import { type Answer, CHAT_KEY, openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'
import { aDay } from './day.ts'
import { openQuietly, openUnlessRefused, scratchDirectory } from './open.ts'

const SLOW = process.env.COFFER_SLOW !== undefined
const PAGE_BYTES = 4096
const FLIPS_OF_PAGE = SLOW ? 32 : 2
const DATABASE_HEADER_BYTES = 100
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES
const FRAMES_TRIED = SLOW ? Number.POSITIVE_INFINITY : 12
const TURNS_MAX = 200 // of the event loop: the look through a database takes one for each table

function changed(t: TestContext, sound: string) {
  const directory = join(scratchDirectory(t), 'copy')
  return (name: string, bytes: Uint8Array): string => {
    rmSync(directory, { recursive: true, force: true })
    cpSync(sound, directory, { recursive: true })
    writeFileSync(join(directory, name), bytes)
    return directory
  }
}

function flipped(bytes: Buffer, at: number): Buffer {
  const result = Buffer.from(bytes)
  result[at]! ^= 1 << Math.floor(Math.random() * 8)
  return result
}

function swapped(bytes: Buffer, one: number, other: number, length: number): Buffer {
  const result = Buffer.from(bytes)
  bytes.copy(result, one, other, other + length)
  bytes.copy(result, other, one, one + length)
  return result
}

/** `count` of the numbers below `end`, evenly. */
const some = (end: number, count: number): number[] => {
  const step = Math.max(1, end / count)
  return Array.from({ length: Math.floor(end / step) }, (_, index) => Math.floor(index * step))
}

/** When it is opened, which the appliance says; or by the look through all of it, since it was not closed. */
async function expectFound(directory: string, what: string): Promise<void> {
  const logged: string[] = []
  const chat = openUnlessRefused(directory, logged)
  if (chat === null) return
  for (let waited = 0; waited < TURNS_MAX && logged.length === 0; waited++) await turn()
  chat.close()
  assert.match(logged.join('\n'), /^error chat: /, what)
}

for (const name of DATABASES)
  test(`a flipped bit in any page of ${name}, and pages that changed places, are refused and said`, {
    timeout: SLOW ? 1_200_000 : 300_000,
  }, async (t) => {
    const rig = await openTestChat()
    t.after(() => rig.close())
    await aDay(rig)
    moveLogs(rig)
    const copy = changed(t, rig.directory)
    const sound = readFileSync(join(rig.directory, name))
    const pages = sound.length / PAGE_BYTES
    assert.ok(pages > 20)
    for (let at = 0; at < DATABASE_HEADER_BYTES; at++)
      assert.equal(openUnlessRefused(copy(name, flipped(sound, at)), []), null, `byte ${at}`)
    for (let page = 0; page < pages; page++)
      for (let flip = 0; flip < FLIPS_OF_PAGE; flip++) {
        const at = page * PAGE_BYTES + Math.floor(Math.random() * PAGE_BYTES)
        await expectFound(copy(name, flipped(sound, at)), `byte ${at} of ${sound.length}`)
      }
    for (let page = 0; page < pages - 1; page++) {
      const bytes = swapped(sound, page * PAGE_BYTES, (page + 1) * PAGE_BYTES, PAGE_BYTES)
      await expectFound(copy(name, bytes), `pages ${page} and ${page + 1} swapped`)
    }
    await expectConsistent(rig.chat.realm)
  })

const moveLogs = ({ chat }: TestChat): void => {
  const { copying } = chat.realm.store
  copying.begin()
  copying.end()
}

/** A copy of the directory in which all changes of `act`, and no others, are in the logs: no checkpoint comes meanwhile. */
async function logOf(t: TestContext, rig: TestChat, act: () => Promise<unknown>): Promise<string> {
  const { copying } = rig.chat.realm.store
  copying.begin()
  await act()
  const sound = scratchDirectory(t)
  cpSync(rig.directory, sound, { recursive: true })
  copying.end()
  return sound
}

for (const name of DATABASES)
  test(`what was changed in the log of ${name} ends it there, and that is said`, { timeout: 300_000 }, async (t) => {
    const rig = await openTestChat()
    t.after(() => rig.close())
    const sound = await logOf(t, rig, () => aDay(rig))
    const copy = changed(t, sound)
    const log = `${name}-wal`
    const bytes = readFileSync(join(sound, log))
    const frames = (bytes.length - LOG_HEADER_BYTES) / FRAME_BYTES
    const offsetOf = (frame: number): number => LOG_HEADER_BYTES + frame * FRAME_BYTES
    assert.ok(frames > 20)
    const { commits } = open(changed(t, sound)(log, bytes), name)

    const tried: [number, Buffer][] = Array.from({ length: LOG_HEADER_BYTES }, (_, at) => [at, flipped(bytes, at)])
    for (const frame of [...some(frames, FRAMES_TRIED), frames - 1]) {
      const inHeader = Math.floor(Math.random() * FRAME_HEADER_BYTES)
      const inPage = FRAME_HEADER_BYTES + Math.floor(Math.random() * PAGE_BYTES)
      for (const at of [inHeader, inPage]) tried.push([offsetOf(frame) + at, flipped(bytes, offsetOf(frame) + at)])
    }
    for (const frame of some(frames - 1, FRAMES_TRIED))
      tried.push([offsetOf(frame), swapped(bytes, offsetOf(frame), offsetOf(frame + 1), FRAME_BYTES)])
    for (const [at, other] of tried) {
      const after = open(copy(log, other), name)
      assert.ok(after.commits < commits, `byte ${at} of ${bytes.length}: ${after.commits} of ${commits}`)
      const isSaid = after.logged.some((line) => line.includes(`the log of ${name} `))
      assert.ok(isSaid, `byte ${at} of ${bytes.length}: ${after.logged}`)
      // The last change looks as if the power had cut it off.
      if (after.commits < commits - 1) assert.equal(after.logEnd, 'damaged', `byte ${at} of ${bytes.length}`)
    }
  })

function open(directory: string, name: DatabaseName) {
  const logged: string[] = []
  const chat = openQuietly(directory, CHAT_KEY, logged)
  const { store } = chat.realm
  const { [name]: commits } = store.commitsOfEach() satisfies Commits
  const logEnd = store.logEnds[name]
  chat.close()
  return { commits, logEnd, logged }
}

test('a log that is whole, cut off in its last change or left of before is not called damaged', async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  const channel = rig.channel('Denmark', [rig.owner])
  const sound = await logOf(t, rig, async () => {
    for (let sent = 0; sent < 5; sent++)
      await rig.owner.post('/messages', { type: 'channel', to: channel.id, topic: `t${sent}`, content: 'x' })
  })
  const copy = changed(t, sound)
  const bytes = readFileSync(join(sound, 'chat.db-wal'))
  const ends = new Set<string>()
  for (let length = bytes.length; length > bytes.length - 12 * FRAME_BYTES; length -= 500) {
    const { logEnd, logged } = open(copy('chat.db-wal', bytes.subarray(0, length)), 'chat.db')
    ends.add(logEnd)
    assert.equal(logged.length, logEnd === 'whole' ? 0 : 1, logged.join())
  }
  assert.deepEqual(ends, new Set(['whole', 'cut off']))
})

test('requests that come to damaged pages fail, and the log says why', async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  await aDay(rig)
  const [{ path_id }] = (await rig.owner.get('/attachments')).attachments
  rig.pause()
  const ways: Record<DatabaseName, () => Promise<Answer>> = {
    'chat.db': () => rig.owner.call('GET', '/messages', { anchor: 'newest', num_before: 100, num_after: 0 }),
    'files.db': () => rig.owner.call('GET', `/user_uploads/${path_id}`),
  }
  for (const name of DATABASES) {
    const path = join(rig.directory, name)
    const sound = readFileSync(path)
    let failed = 0
    rig.resume()
    const whole = await ways[name]()
    rig.pause()
    for (let page = sound.length / PAGE_BYTES - 1; page > 0; page--) {
      writeFileSync(path, flipped(sound, page * PAGE_BYTES + 2000))
      rig.logged.length = 0
      try {
        rig.resume()
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'storage')
        continue
      }
      const answer = await ways[name]()
      rig.pause()
      if (answer.status === 200 && answer.body.length === whole.body.length) continue
      failed++ // what is under way when it comes to light is cut off
      assert.match(rig.logged.join('\n'), /error general: storage: The store is damaged/)
      if (answer.status !== 200) assert.deepEqual([answer.status, answer.body.msg], [500, 'Internal server error'])
    }
    writeFileSync(path, sound)
    assert.ok(failed > 0, name)
  }
  rig.resume()
})
