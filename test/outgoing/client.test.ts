/** The firmware's end of outgoing connections: which hosts are reached, how many at once, and a process that fails in every way. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OutgoingError } from '../../firmware/outgoing/error.ts'
import { REQUEST_BYTES_MAX } from '../../firmware/outgoing/link.ts'
import { type ClientRig, openClient, type Worker } from './link.ts'

const HOSTS = ['hooks.example.org']
const URL_LISTED = 'https://hooks.example.org/'

const job = (url = URL_LISTED, body = new Uint8Array(0)) =>
  ({ method: 'POST', url, headers: {}, body, answerHeaders: [], timeoutMs: 10_000 }) as const

const ask = ({ client }: ClientRig, origin: 'chat' | 'appliance' = 'chat', signal?: AbortSignal) =>
  client.http(job(), { origin, hosts: HOSTS, ...(signal && { signal }) })

const failure = (promise: Promise<unknown>): Promise<OutgoingError> =>
  promise.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => {
      assert.ok(error instanceof OutgoingError, String(error))
      return error
    },
  )

const answer = (worker: Worker, at: number) =>
  worker.channel.send({
    type: 'answer',
    id: worker.jobs[at]!.id,
    answer: { status: 200, headers: {}, body: new Uint8Array([1]) },
  })

/** A rig with one job that the worker has. */
async function withJob(t: TestContext) {
  const rig = await openClient(t)
  const asked = ask(rig)
  asked.catch(() => {})
  const worker = await rig.start()
  await rig.until(() => worker.jobs.length === 1)
  return { rig, asked, worker }
}

test('the process is wanted for the first job, and the job waits for it', async (t) => {
  const rig = await openClient(t)
  assert.deepEqual(rig.wishes, [])
  const asked = ask(rig)
  assert.deepEqual(rig.wishes, ['running'])
  const worker = await rig.start()
  await rig.until(() => worker.jobs.length === 1)
  answer(worker, 0)
  assert.deepEqual(await asked, { status: 200, headers: {}, body: new Uint8Array([1]) })
})

test('without jobs the process ends after a minute, and the next job has another one', async (t) => {
  const { rig, asked, worker } = await withJob(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  answer(worker, 0)
  await asked
  t.mock.timers.tick(59_000)
  assert.deepEqual(rig.wishes, ['running'])
  t.mock.timers.tick(1000)
  assert.deepEqual(rig.wishes, ['running', 'none'])
  const again = ask(rig)
  assert.deepEqual(rig.wishes, ['running', 'none', 'running'])
  const next = await rig.start()
  await rig.until(() => next.jobs.length === 1)
  assert.equal(worker.jobs.length, 1)
  answer(next, 0)
  await again
})

test('a host that is not listed is not asked, whatever the chat says', async (t) => {
  const rig = await openClient(t)
  for (const url of ['https://other.example.org/', 'http://hooks.example.org:8080/', 'file:///etc/passwd', 'nothing'])
    assert.match(
      (await failure(rig.client.http(job(url), { origin: 'chat', hosts: HOSTS }))).message,
      /has not listed its host/,
    )
  assert.deepEqual(rig.wishes, [])
})

test('a request is bounded', async (t) => {
  const rig = await openClient(t)
  const large = job(URL_LISTED, new Uint8Array(REQUEST_BYTES_MAX + 1))
  assert.match((await failure(rig.client.http(large, { origin: 'chat', hosts: HOSTS }))).message, /too long/)
  const long = job(`${URL_LISTED}${'x'.repeat(9000)}`)
  assert.match((await failure(rig.client.http(long, { origin: 'chat', hosts: HOSTS }))).message, /too long/)
})

test('requests of full size pass, more than one at once', async (t) => {
  const rig = await openClient(t)
  const large = job(URL_LISTED, new Uint8Array(REQUEST_BYTES_MAX).fill(7))
  const asked = Array.from({ length: 8 }, () => rig.client.http(large, { origin: 'appliance', hosts: HOSTS }))
  const worker = await rig.start()
  await rig.until(() => worker.jobs.length === 8)
  for (let at = 0; at < 8; at++) answer(worker, at)
  assert.equal((await Promise.all(asked)).length, 8)
})

test('the chat has half of the jobs at most, and what waits is bounded', async (t) => {
  const rig = await openClient(t)
  const asked = Array.from({ length: 32 }, () => ask(rig))
  assert.match((await failure(ask(rig))).message, /too many other requests wait/)
  const worker = await rig.start()
  await rig.until(() => worker.jobs.length === 16)
  const own = ask(rig, 'appliance')
  await rig.until(() => worker.jobs.length === 17)
  answer(worker, 16)
  await own
  for (let at = 0; at < 16; at++) answer(worker, at)
  await rig.until(() => worker.jobs.length === 33)
  for (let at = 17; at < 33; at++) answer(worker, at)
  assert.equal((await Promise.all(asked)).length, 32)
})

test('a canceled request frees its place, waiting and running', async (t) => {
  const { rig, worker } = await withJob(t)
  const ending = new AbortController()
  const running = failure(ask(rig, 'chat', ending.signal))
  await rig.until(() => worker.jobs.length === 2)
  ending.abort()
  assert.match((await running).message, /canceled/)
  await rig.until(() => worker.canceled.length === 1)
  assert.deepEqual(worker.canceled, [worker.jobs[1]!.id])
})

test('canceled requests that the process has not read are not kept for it', async (t) => {
  const { rig, worker } = await withJob(t)
  worker.socket.pause()
  const large = job(URL_LISTED, new Uint8Array(REQUEST_BYTES_MAX).fill(7))
  for (let n = 0; n < 40; n++) {
    const ending = new AbortController()
    const asked = failure(rig.client.http(large, { origin: 'chat', hosts: HOSTS, signal: ending.signal }))
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    ending.abort()
    await asked
  }
  const last = ask(rig)
  worker.socket.resume()
  await rig.until(
    () => worker.jobs.at(-1)?.job.do === 'http' && worker.jobs.length > 1 && worker.canceled.length === 40,
  )
  answer(worker, worker.jobs.length - 1)
  await last
  // Some were on their way.
  assert.ok(worker.jobs.length <= 20, `${worker.jobs.length} jobs`)
})

test('a process that ends fails its jobs, and the next one has the others', async (t) => {
  const { rig, asked, worker } = await withJob(t)
  worker.socket.destroy()
  const { message, isFinal } = await failure(asked)
  assert.match(message, /the process for outgoing connections ended/)
  assert.equal(isFinal, false)
  const again = ask(rig)
  const next = await rig.start()
  await rig.until(() => next.jobs.length === 1)
  answer(next, 0)
  await again
})

test('after a lock jobs fail and a fresh process has the next ones', async (t) => {
  const { rig, asked, worker } = await withJob(t)
  rig.client.renew()
  assert.match((await failure(asked)).message, /locked/)
  assert.deepEqual(rig.wishes, ['running', 'none'])
  const again = ask(rig)
  assert.deepEqual(rig.wishes, ['running', 'none', 'running'])
  await nextTurn()
  assert.equal(worker.jobs.length, 1)
  const next = await rig.start()
  await rig.until(() => next.jobs.length === 1)
  answer(next, 0)
  await again
})

test('a lock without a process starts none', async (t) => {
  const rig = await openClient(t)
  rig.client.renew()
  assert.deepEqual(rig.wishes, [])
})

test('a process that does not start, or does not answer, is waited for with an end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const rig = await openClient(t)
  const unstarted = failure(ask(rig))
  t.mock.timers.tick(60_000)
  assert.match((await unstarted).message, /is busy or does not start/)
  const unanswered = failure(ask(rig))
  const worker = await rig.start()
  await rig.until(() => worker.jobs.length === 1)
  t.mock.timers.tick(20_000)
  assert.match((await unanswered).message, /did not answer/)
})

test('a process that fails again and again fails what waits', async (t) => {
  const rig = await openClient(t)
  const asked = failure(ask(rig))
  rig.client.receive({ type: 'outgoingDown', problem: 'it ended with exit code 3 3 times in a row' })
  assert.match((await asked).message, /ended/)
  assert.match(rig.logged.join('\n'), /the process for outgoing connections has failed: it ended with exit code 3/)
})

const MALFORMED: unknown[] = [
  { status: 'two hundred', headers: {}, body: new Uint8Array(0) },
  { status: 200, headers: {}, body: 'text' },
  { status: 200, headers: {}, body: new Uint8Array(256 * 1024 + 1) },
  { status: 200, headers: { a: 1 }, body: new Uint8Array(0) },
  { status: 200, headers: { a: { toString: 1, valueOf: 1 } }, body: new Uint8Array(0) },
  { status: 200, headers: { a: 'x'.repeat(9000) }, body: new Uint8Array(0) },
  { addresses: ['192.0.2.1'] },
  null,
  'nothing',
]
for (const [at, malformed] of MALFORMED.entries())
  test(`a malformed answer fails its job: ${at + 1}`, async (t) => {
    const { asked, worker } = await withJob(t)
    worker.channel.send({ type: 'answer', id: worker.jobs[0]!.id, answer: malformed as never })
    assert.match((await failure(asked)).message, /gave a malformed answer/)
  })

test('answers to no job, or of no kind, are passed over', async (t) => {
  const { asked, worker } = await withJob(t)
  const values = [{ type: 'answer', id: 4711 }, { type: 'failure' }, { type: 'key', id: 'x' }, [], 7, null]
  for (const value of values) worker.channel.send(value as never)
  answer(worker, 0)
  assert.equal((await asked).status, 200)
})

test('bytes that are no message end the process, and the job fails', async (t) => {
  const { rig, asked, worker } = await withJob(t)
  worker.socket.write(Buffer.alloc(64, 0xff))
  assert.match((await failure(asked)).message, /ended/)
  assert.deepEqual(rig.wishes.slice(0, 2), ['running', 'none'])
  assert.match(rig.logged.join('\n'), /sent something that is not a message/)
})

test('the reason of a failure is short and printable', async (t) => {
  const { asked, worker } = await withJob(t)
  const problem = `\u202e\n${'x'.repeat(1000)}`
  worker.channel.send({ type: 'failure', id: worker.jobs[0]!.id, problem, isFinal: true })
  const { message, isFinal } = await failure(asked)
  assert.equal(message, `··${'x'.repeat(198)}`)
  assert.equal(isFinal, true)
})
