// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import { readParts } from '../../firmware/http/request/multipart.ts'
import { cuts, damaged, forAWhile, pieces, seconds } from './support.ts'

const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const header = fc.oneof(
  token.map((name) => `content-disposition: form-data; name="${name}"`),
  token.map((name) => `Content-Disposition: form-data; filename="x"; name=${name}`),
  fc.constantFrom('content-type: application/json', 'content-transfer-encoding: binary', 'x:', ': x', 'no colon'),
  fc.string({ maxLength: 40 }),
)
const part = fc.tuple(fc.array(header, { maxLength: 3 }), fc.string({ maxLength: 200 }))
const body = fc
  .record({
    boundary: token,
    parts: fc.array(part, { maxLength: 6 }),
    preamble: fc.string({ maxLength: 10 }),
    isEnded: fc.boolean(),
  })
  .map(({ boundary, parts, preamble, isEnded }) => {
    const texts = parts.map(([headers, content]) => `--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n${content}\r\n`)
    return { boundary, text: `${preamble}${texts.join('')}${isEnded ? `--${boundary}--\r\n` : ''}` }
  })
const type = (boundary: string) =>
  fc.constantFrom(
    `multipart/form-data; boundary=${boundary}`,
    `multipart/form-data; boundary="${boundary}"`,
    `Multipart/Form-Data;boundary=${boundary}; charset=utf-8`,
    'multipart/form-data',
    `multipart/form-data; boundary=`,
    `multipart/form-data; boundary="${boundary}`,
  )
const upload = body.chain(({ boundary, text }) =>
  fc.tuple(damaged(fc.constant(Buffer.from(text))), type(boundary), cuts, fc.boolean()),
)

test(`whatever comes as multipart is parts or refused, for ${seconds} s`, async (t) => {
  let refused = 0
  const runs = await forAWhile(upload, async ([bytes, type, cuts, readsContent]) => {
    let contentBytes = 0
    try {
      const chunks = (async function* () {
        yield* pieces(bytes, cuts)
      })()
      for await (const { content } of readParts(chunks, type))
        if (readsContent) for await (const piece of content) contentBytes += piece.length
    } catch (error) {
      assert.ok(error instanceof CofferError && error.code === 'invalid', error as Error)
      refused++
    }
    assert.ok(contentBytes <= bytes.length)
  })
  t.diagnostic(`${runs} runs, ${refused} refused`)
  assert.ok(refused > 0 && refused < runs)
})
