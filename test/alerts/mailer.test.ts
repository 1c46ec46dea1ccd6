/** When alerts are mailed, by a clock in the test's hands: two minutes, each day, the end, failures, and twenty an hour. Contract section 7.10. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ALERT_IDS, type AlertId, type Finding } from '../../firmware/alerts/conditions.ts'
import { createAlertList } from '../../firmware/alerts/list.ts'
import { createAlertMailer } from '../../firmware/alerts/mailer.ts'
import { createMailProgress } from '../../firmware/alerts/progress.ts'
import { createLog } from '../../firmware/base/log.ts'
import { DEFAULT_MAIL, type MailSettings } from '../../firmware/configuration/mail.ts'
import type { OutgoingClient } from '../../firmware/outgoing/client.ts'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { operationalRig } from '../support/in-process.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './rig.ts'

const START_MS = Date.UTC(2026, 10, 29, 12)
const TICK_MS = 10_000
const CRITICAL: Finding = { level: 'critical', text: 'It is bad.' }
const WARNING: Finding = { level: 'warning', text: 'It is not good.' }

const SET: MailSettings = {
  ...DEFAULT_MAIL,
  server: 'mail.example.org',
  from: 'coffer@example.org',
  to: ['admin@example.org'],
}

async function open(t: TestContext) {
  const rig = await operationalRig(t)
  const found = new Map<AlertId, Finding | undefined>()
  const mails: { atMs: number; subject: string; text: string }[] = []
  const logged: string[] = []
  const state = {
    nowMs: 0,
    settings: SET,
    answer: async (): ReturnType<OutgoingClient['mail']> => ({ accepted: 1 }),
    attempts: 0,
  }
  const now = () => START_MS + state.nowMs
  const conditions = ALERT_IDS.map((id) => ({
    id,
    check: () => (found.has(id) ? found.get(id) : null),
    advice: `Look at ${id}.`,
  }))
  const start = () => {
    const list = createAlertList(conditions, now)
    return createAlertMailer({
      ...{ list, conditions, now, monotonicMs: () => state.nowMs },
      log: createLog('debug', ({ message }) => logged.push(message)),
      progress: createMailProgress({ records: rig.appliance.deviceRecords, now, monotonicMs: () => state.nowMs }),
      settings: () => state.settings,
      appliance: () => 'ABCDEFGHIJ coffer.example.org',
      send: async ({ message }) => {
        state.attempts++
        const text = Buffer.from(message).toString()
        const answer = await state.answer()
        mails.push({
          atMs: state.nowMs,
          subject: /^Subject: (.*(?:\r\n .*)*)/m.exec(text)![1]!.replace(/\r\n/g, ''),
          text,
        })
        return answer
      },
    })
  }
  let mailer = start()
  return {
    found,
    mails,
    logged,
    state,
    get mailer() {
      return mailer
    },
    /** As a start of the firmware does. `lostMs`: by how much the clock that never jumps begins anew. */
    restart() {
      mailer = start()
    },
    /** Lets time pass in steps of the timer. */
    async pass(ms: number, each = () => {}) {
      for (const endMs = state.nowMs + ms; state.nowMs < endMs; ) {
        state.nowMs += TICK_MS
        each()
        mailer.look()
        await nextTurn()
        await nextTurn()
      }
    },
    subjects: () => mails.splice(0).map(({ subject }) => subject.replace('Coffer ABCDEFGHIJ coffer.example.org: ', '')),
  }
}

test('an alert is mailed once it has held for two minutes, each day, and at its end', async (t) => {
  const { found, pass, subjects, mails } = await open(t)
  found.set('disk', WARNING)
  await pass(2 * MINUTE_MS)
  assert.equal(mails.length, 0)
  await pass(TICK_MS)
  const { text } = mails[0]!
  assert.deepEqual(text.split('\r\n'), [
    'From: Coffer <coffer@example.org>',
    'To: admin@example.org',
    'Subject: Coffer ABCDEFGHIJ coffer.example.org: disk (warning)',
    'Date: Sun, 29 Nov 2026 12:02:10 +0000',
    ...text.split('\r\n').filter((line) => /^Message-ID: <[0-9a-f]{32}@example\.org>$/.test(line)),
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    'Content-Transfer-Encoding: 7bit',
    '',
    'Appliance: ABCDEFGHIJ coffer.example.org',
    '',
    'Warning: disk, noticed since 2026-11-29T12:00:10Z',
    '  It is not good.',
    '  Look at disk.',
    '',
    '',
  ])
  subjects()
  await pass(DAY_MS - TICK_MS)
  assert.deepEqual(subjects(), [])
  await pass(TICK_MS)
  assert.deepEqual(subjects(), ['disk (warning)'])
  await pass(DAY_MS)
  assert.deepEqual(subjects(), ['disk (warning)'])
  found.delete('disk')
  await pass(2 * MINUTE_MS + TICK_MS)
  assert.deepEqual(subjects(), ['disk (ended)'])
  await pass(3 * DAY_MS)
  assert.deepEqual(subjects(), [])
})

test('it is mailed when it becomes critical, and not when it is a warning again', async (t) => {
  const { found, pass, subjects } = await open(t)
  found.set('disk', WARNING)
  await pass(5 * MINUTE_MS)
  found.set('disk', CRITICAL)
  await pass(TICK_MS)
  assert.deepEqual(subjects(), ['disk (warning)', 'disk (critical)'])
  found.set('disk', WARNING)
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), [])
})

test('what comes and goes within two minutes is not mailed, and neither is a short end', async (t) => {
  const { found, pass, subjects } = await open(t)
  for (let n = 0; n < 20; n++) {
    found.set('cluster', CRITICAL)
    await pass(MINUTE_MS)
    found.delete('cluster')
    await pass(MINUTE_MS)
  }
  assert.deepEqual(subjects(), [])
  found.set('cluster', CRITICAL)
  await pass(3 * MINUTE_MS)
  found.delete('cluster')
  await pass(MINUTE_MS)
  found.set('cluster', CRITICAL)
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['cluster (critical)'])
})

test('while nothing can be told nothing has ended', async (t) => {
  const { found, pass, subjects, restart } = await open(t)
  found.set('chat', CRITICAL)
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['chat (critical)'])
  restart()
  found.set('chat', undefined) // Locked after the start
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), [])
  found.set('chat', CRITICAL)
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), [], 'it was mailed before the restart')
  found.delete('chat')
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['chat (ended)'])
})

test('what is due together goes into one mail', async (t) => {
  const { found, pass, subjects } = await open(t)
  found.set('disk', WARNING).set('store', CRITICAL)
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['disk (warning), store (critical)'])
  found.delete('disk')
  found.set('audit', WARNING)
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['audit (warning), disk (ended)'])
})

test('all alerts in one mail have short lines', async (t) => {
  const { found, pass, mails } = await open(t)
  for (const id of ALERT_IDS) found.set(id, CRITICAL)
  await pass(3 * MINUTE_MS)
  const { text, subject } = mails[0]!
  for (const id of ALERT_IDS) assert.ok(subject.includes(`${id} (critical)`), subject)
  for (const line of text.split('\r\n')) assert.match(line, /^[ -~]{0,120}$/)
})

test('only the alerts that are set are mailed, and other settings begin anew', async (t) => {
  const { found, pass, subjects, state, mailer } = await open(t)
  state.settings = { ...SET, alerts: ['store'] }
  found.set('disk', WARNING).set('store', CRITICAL)
  await pass(3 * MINUTE_MS)
  assert.deepEqual(subjects(), ['store (critical)'])
  state.settings = { ...SET, server: null }
  mailer.startAnew()
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), [])
  state.settings = SET
  mailer.startAnew()
  await pass(TICK_MS)
  assert.deepEqual(subjects(), ['disk (warning), store (critical)'])
})

test('a mail that is not accepted is tried again after 1, 5, 15, 60 minutes, then every hour', async (t) => {
  const { found, pass, state, logged, subjects } = await open(t)
  const times: number[] = []
  state.answer = async () => {
    times.push(state.nowMs)
    throw new OutgoingError('it answered MAIL with 451 4.3.0 try again', false)
  }
  found.set('disk', WARNING)
  await pass(6 * HOUR_MS)
  const gaps = times.slice(1).map((timeMs, at) => Math.round((timeMs - times[at]!) / MINUTE_MS))
  assert.deepEqual(gaps.slice(0, 6), [1, 5, 15, 60, 60, 60])
  assert.ok(logged.every((line) => /cannot mail alerts: it answered MAIL with 451/.test(line)))
  state.answer = async () => ({ accepted: 1 })
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), ['disk (warning)'])
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), [])
})

test('a mail that some recipients get counts, and the log says who refused', async (t) => {
  const { found, pass, state, logged, subjects } = await open(t)
  state.settings = { ...SET, to: ['one@example.org', 'two@example.org'] }
  state.answer = async () => ({ accepted: 1, refusal: '550 5.1.1 nobody is here' })
  found.set('disk', WARNING)
  await pass(HOUR_MS)
  assert.deepEqual(subjects(), ['disk (warning)'])
  assert.match(
    logged.join(),
    /not to all: 1 of 2 recipients, and for another one it answered 550 5\.1\.1 nobody is here/,
  )
})

test('1,000 alerts in an hour: 20 mails, and the last says that there are more', async (t) => {
  const { found, pass, mails, state, subjects } = await open(t)
  let alerts = 0
  const PERIOD = 26 // ticks in which each comes and goes: 13 that it holds
  const turn = () => {
    const tick = state.nowMs / TICK_MS
    ALERT_IDS.forEach((id, at) => {
      const isHeld = (tick + at * 2) % PERIOD < PERIOD / 2
      if (isHeld && !found.has(id)) alerts++
      if (isHeld) found.set(id, CRITICAL)
      else found.delete(id)
    })
  }
  await pass(HOUR_MS + 2 * MINUTE_MS, turn)
  const inHour = mails.filter(({ atMs }) => atMs < mails[0]!.atMs + HOUR_MS)
  assert.equal(inHour.length, 20)
  for (const { text } of inHour.slice(0, -1)) assert.doesNotMatch(text, /held back/)
  const last = inHour.at(-1)!.text
  const until = new Date(START_MS + mails[0]!.atMs + HOUR_MS).toISOString().replace('.000', '')
  assert.match(last, new RegExp(`More alerts are held back until\\r\\n${until}\\.`))
  while (alerts < 1000) await pass(HOUR_MS, turn)
  for (const { atMs } of mails) {
    const after = mails.filter((other) => other.atMs >= atMs && other.atMs < atMs + HOUR_MS)
    assert.ok(after.length <= 20, `${after.length} within an hour of ${atMs}`)
  }
  subjects()
  for (const id of ALERT_IDS) found.set(id, CRITICAL)
  await pass(HOUR_MS)
  const told = new Set(
    subjects()
      .join()
      .match(/[a-z-]+(?= \()/g),
  )
  assert.ok(told.size > 0, 'what was held back is mailed')
})

test('twenty mails an hour also across restarts, and while the server takes none', async (t) => {
  const opened = await open(t)
  const { found, pass, state } = opened
  state.answer = async () => {
    throw new OutgoingError('it could not be reached (ECONNREFUSED)', false)
  }
  found.set('disk', WARNING)
  await pass(3 * MINUTE_MS)
  for (let n = 0; n < 100; n++) {
    opened.mailer.startAnew() // a setting that is changed again and again
    await pass(TICK_MS)
  }
  assert.equal(state.attempts, 20)
  opened.restart()
  await pass(10 * MINUTE_MS)
  assert.equal(state.attempts, 20)
})

test('a mail that is under way is not sent twice, and other settings do not wait for it', async (t) => {
  const { found, pass, state, mailer } = await open(t)
  const slow = Promise.withResolvers<{ accepted: number }>()
  state.answer = () => slow.promise
  found.set('disk', WARNING)
  await pass(HOUR_MS)
  assert.equal(state.attempts, 1)
  mailer.startAnew()
  state.answer = async () => ({ accepted: 1 })
  slow.resolve({ accepted: 1 })
  await pass(2 * TICK_MS)
  assert.equal(state.attempts, 2, 'the server of the new settings is told, too')
})

test('a test is refused without a server, and within ten seconds of the last one', async (t) => {
  const { state, mailer, mails } = await open(t)
  state.settings = DEFAULT_MAIL
  await assert.rejects(mailer.test(), { code: 'unavailable' })
  state.settings = SET
  assert.equal(await mailer.test(), null)
  assert.match(mails[0]!.text, /^Subject: .*: test\r\n/m)
  await assert.rejects(mailer.test(), { code: 'tooManyAttempts' })
  state.nowMs += 10_000
  state.answer = async () => {
    throw new OutgoingError('it does not offer STARTTLS', true)
  }
  assert.equal(await mailer.test(), 'it does not offer STARTTLS')
})
