/** Validators and conditions of uploaded files: contract row E131; RFC 9110 sections 8.8, 13 and 14. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const WORDS = 'To be, or not to be'
const HOUR_MS = 3_600_000

async function ask(method: string, path: string, headers: Record<string, string> = {}) {
  const authorization = `Basic ${Buffer.from(`${hamlet.user.email}:${hamlet.key}`).toString('base64')}`
  const response = await rig.chat.api.request(`http://chat.example${path}`, {
    method,
    headers: { authorization, ...headers },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const { url } = (await hamlet.upload('POST', '/user_uploads', Buffer.from(WORDS), {}, 'speech.txt')).body
const signed = JSON.parse((await ask('GET', `/api/v1${url}`)).text).url
const paths = [url, url.replace('/user_uploads/', '/user_uploads/download/'), signed]
rig.advance(5) // the age of the file in every test
const { headers } = await ask('GET', url)
const etag = headers.get('etag')!
const date = headers.get('last-modified')!

const at = (offsetMs: number) => new Date(Date.parse(date) + offsetMs).toUTCString()

describe('An uploaded file', () => {
  it('has validators, the same by GET and HEAD at each of its addresses, and others have other ones', async () => {
    assert.match(etag, /^"[\w-]{22}"$/)
    assert.equal(date, new Date(rig.now() - 5000).toUTCString())
    for (const path of paths)
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await ask(method, path)
        assert.deepEqual([status, headers.get('etag'), headers.get('last-modified')], [200, etag, date], path)
        assert.equal(headers.get('content-length'), String(WORDS.length))
      }
    const { url } = (await hamlet.upload('POST', '/user_uploads', Buffer.from(WORDS), {}, 'speech.txt')).body
    assert.notEqual((await ask('GET', url)).headers.get('etag'), etag)
  })

  it('is not sent again to clients that have it, by etag first and by date otherwise', async () => {
    const CASES: readonly [conditions: Record<string, string>, status: number][] = [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"other", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': '"other"' }, 200],
      [{ 'if-modified-since': date }, 304],
      [{ 'if-modified-since': at(HOUR_MS) }, 304],
      [{ 'if-modified-since': at(-1000) }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-none-match': '"other"', 'if-modified-since': at(HOUR_MS) }, 200],
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': '"other"' }, 412],
      [{ 'if-match': `W/${etag}` }, 412],
      [{ 'if-unmodified-since': date }, 200],
      [{ 'if-unmodified-since': at(-1000) }, 412],
      [{ 'if-match': etag, 'if-unmodified-since': at(-1000) }, 200],
      [{ 'if-match': '"other"', 'if-none-match': etag }, 412],
    ]
    for (const path of paths)
      for (const method of ['GET', 'HEAD'])
        for (const [conditions, status] of CASES) {
          const answer = await ask(method, path, conditions)
          assert.equal(answer.status, status, `${method} ${JSON.stringify(conditions)}`)
          assert.equal(answer.headers.get('etag'), etag)
          assert.equal(answer.text, method === 'GET' && status === 200 ? WORDS : '')
        }
  })

  it('is sent in ranges of the version that the client has a part of', async () => {
    const CASES: readonly [ifRange: string | null, status: number][] = [
      [null, 206],
      [etag, 206],
      [date, 206],
      ['"other"', 200],
      [`W/${etag}`, 200],
      [at(HOUR_MS), 200],
    ]
    for (const [ifRange, status] of CASES) {
      const headers = { range: 'bytes=0-4', ...(ifRange !== null && { 'if-range': ifRange }) }
      const answer = await ask('GET', paths[0]!, headers)
      assert.equal(answer.status, status, String(ifRange))
      assert.equal(answer.text, status === 206 ? WORDS.slice(0, 5) : WORDS)
      assert.equal(answer.headers.get('etag'), etag)
    }
    assert.equal((await ask('GET', paths[0]!, { range: 'bytes=0-4', 'if-none-match': etag })).status, 304)
  })

  it('tells nothing to users who may not read it', async () => {
    const cordelia = rig.account('cordelia')
    const authorization = `Basic ${Buffer.from(`${cordelia.user.email}:${cordelia.key}`).toString('base64')}`
    const { status, headers } = await ask('GET', paths[0]!, { authorization, 'if-none-match': etag })
    assert.deepEqual([status, headers.get('etag'), headers.get('last-modified')], [404, null, null])
  })
})
