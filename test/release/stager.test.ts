/** An image on its way: the order of checks, one at a time, and nothing left when it does not arrive. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { archive, goodImage, goodManifest, head, inPieces, PAYLOAD, RELEASE } from './archives.ts'
import { openRig } from './rig.ts'

const withCode = (code: string, message?: RegExp) => (error: unknown) =>
  error instanceof CofferError && error.code === code && (message === undefined || message.test(error.message))

const stageGood = ({ stager }: ReturnType<typeof openRig>) => stager.stage(inPieces(goodImage()).chunks)

test('a good image is stored, verified and pending, and its release notes come back', async (t) => {
  const rig = openRig(t)
  assert.equal(await stageGood(rig), RELEASE.releaseNotes)
  assert.deepEqual(rig.files(), [
    'incoming',
    'incoming/firmware.js',
    `incoming/linux-${process.arch}.node`,
    'incoming/manifest.json',
    'incoming/manifest.sig',
  ])
  assert.equal(rig.steps.at(-1), 'finish')
  assert.ok(rig.entries.some(({ message }) => message.endsWith('update to version 1.3.0 is pending')))
})

test('while an update is pending, another one is refused before a byte of it is read', async (t) => {
  const rig = openRig(t)
  await stageGood(rig)
  const { chunks, taken } = inPieces(goodImage())
  await assert.rejects(rig.stager.stage(chunks), withCode('conflict', /is pending/))
  assert.equal(taken(), 0)
})

test('while an update is on its way, another one is refused, and there is nothing to commit or cancel', async (t) => {
  const { stager } = openRig(t)
  const gate = Promise.withResolvers<void>()
  async function* slow() {
    const image = goodImage()
    yield image.subarray(0, 500)
    await gate.promise
    yield image.subarray(500)
  }
  const first = stager.stage(slow())
  await assert.rejects(stager.stage(inPieces(goodImage()).chunks), withCode('conflict', /is being uploaded/))
  await assert.rejects(stager.commit(), withCode('unavailable'))
  await assert.rejects(stager.cancel(), withCode('unavailable'))
  gate.resolve()
  assert.equal(await first, RELEASE.releaseNotes)
})

test('without a release key nothing is read, and pending goes before that', async (t) => {
  const { stager } = openRig(t, { releaseKey: null })
  const { chunks, taken } = inPieces(goodImage())
  await assert.rejects(stager.stage(chunks), withCode('invalid', /has no release key/))
  assert.equal(taken(), 0)
})

test('the signature is checked before the manifest is parsed, the version before any payload is stored', async (t) => {
  const rig = openRig(t)
  const nonsense = new Uint8Array(Buffer.from('{"version'))
  const [manifest, signature] = head(nonsense)
  const forged = archive([manifest!, { ...signature!, bytes: new Uint8Array(64) }, ...PAYLOAD])
  await assert.rejects(rig.stager.stage(inPieces(forged).chunks), /is not signed/)
  const older = archive([...head({ ...goodManifest(), version: '0.1', product: 'Other' }), ...PAYLOAD])
  await assert.rejects(rig.stager.stage(inPieces(older).chunks), withCode('invalid', /for the product/))
  assert.deepEqual(rig.steps, [])
})

test('newer and older minor versions, and the same one, are taken', async (t) => {
  for (const version of ['1.2.3', '1.0', '1.99.1', '2.0', '10.0.0']) {
    const { stager } = openRig(t)
    const image = archive([...head({ ...goodManifest(), version }), ...PAYLOAD])
    assert.equal(await stager.stage(inPieces(image).chunks), RELEASE.releaseNotes)
  }
  const exact = archive([...head({ ...goodManifest(), minimumVersion: '1.2.3' }), ...PAYLOAD])
  await openRig(t).stager.stage(inPieces(exact).chunks)
})

test('a client that goes away in the middle leaves nothing behind', async (t) => {
  const image = goodImage()
  for (const after of [0, 300, 1500, 5000, image.length - 600]) {
    const rig = openRig(t)
    async function* broken() {
      yield image.subarray(0, after)
      throw new CofferError('invalid', 'The request body ended early')
    }
    await assert.rejects(rig.stager.stage(broken()), withCode('invalid', /ended early/))
    assert.deepEqual(rig.files(), [])
    assert.equal(await stageGood(rig), RELEASE.releaseNotes)
  }
})

test('a canceled update is gone, and the next one is taken', async (t) => {
  const rig = openRig(t)
  await stageGood(rig)
  await rig.stager.cancel()
  assert.deepEqual(rig.files(), [])
  await assert.rejects(rig.stager.cancel(), withCode('unavailable'))
  await assert.rejects(rig.stager.commit(), withCode('unavailable'))
  await stageGood(rig)
  await rig.stager.commit()
  assert.ok(rig.files().includes('state.json'))
})

async function full(t: TestContext, step: string): Promise<void> {
  let full = true
  const rig = openRig(t, {
    onStep: (asked) => {
      if (full && asked.do === step) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    },
  })
  await assert.rejects(stageGood(rig), withCode('invalid', /the disk is full/))
  assert.deepEqual(rig.files(), [])
  full = false
  await stageGood(rig)
}

for (const step of ['begin', 'write', 'finish'])
  test(`a disk that is full at ${step} is told, and once there is room the upload works`, (t) => full(t, step))

test('an update whose activation fails is still pending', async (t) => {
  let failing = true
  const rig = openRig(t, {
    onStep: (step) => {
      if (failing && step.do === 'activate') throw Object.assign(new Error('disk'), { code: 'EIO' })
    },
  })
  await stageGood(rig)
  await assert.rejects(rig.stager.commit(), withCode('invalid', /the disk failed: EIO/))
  failing = false
  await rig.stager.commit()
  assert.ok(rig.slots.choose().trial)
})
