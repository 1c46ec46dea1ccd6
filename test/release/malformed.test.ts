/** Images that must be refused: each with its own clear message, before more than needed was read, with nothing left. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { goodImage, inPieces, RELEASE } from './archives.ts'
import { MALFORMED } from './malformed.ts'
import { openRig } from './rig.ts'

const PIECES = [1, 7, 512, 65536]

for (const { what, image, message, code = 'invalid', readMax } of MALFORMED) {
  test(`refuses ${what}`, async (t) => {
    const { stager, files } = openRig(t)
    for (const size of PIECES) {
      const { chunks, taken } = inPieces(image, size)
      await assert.rejects(stager.stage(chunks), (error) => {
        assert.ok(error instanceof CofferError, String(error))
        assert.deepEqual([error.code, error.message], [code, message])
        return true
      })
      assert.ok(taken() <= (readMax ?? image.length) + size, `${taken()} bytes were read`)
      assert.equal((await chunks.next()).done, true, 'the upload was not let go of')
      assert.deepEqual(files(), [])
    }
    await assert.rejects(stager.commit(), /No update has been uploaded/)
    // And it is not stuck: the next image is taken.
    assert.equal(await stager.stage(inPieces(goodImage()).chunks), RELEASE.releaseNotes)
  })
}

test('there are many, and different causes have different messages', () => {
  assert.ok(MALFORMED.length >= 60, String(MALFORMED.length))
  const byMessage = Map.groupBy(MALFORMED, ({ message }) => message)
  // What may share a message because the cause is the same: the signature does not fit, and the like.
  const shared = [...byMessage]
    .filter(([, cases]) => cases.length > 1)
    .map(([message, cases]) => [message, cases.length])
  assert.deepEqual(Object.fromEntries(shared), {
    'The image is not a cpio archive': 2,
    'The image is in the binary form of cpio, not in newc': 2,
    'A member has no name': 2,
    'The name of a member is longer than 64 bytes': 2,
    'The name of a member holds a NUL': 2,
    'The name of a member holds characters that are not printable ASCII': 2,
    'Data follow the trailer of the archive': 2,
    'The manifest is not signed by the release key of this appliance': 4,
    'The manifest is not JSON in UTF-8, or names a member twice': 3,
  })
  assert.ok(byMessage.size >= 60, String(byMessage.size))
})
