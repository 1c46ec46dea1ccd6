/**
 * Fuzzes the way of an update image from bytes to slot: mutations of a valid image, in pieces of any size.
 *
 *     node test/release/fuzz.ts --seconds 600 [--seed 1]
 *
 * An image is signed: whatever is taken must be, byte for byte, what was released. Anything else must be refused with an
 * error of its own, at once, and with nothing begun left behind.
 */

import { parseArgs } from 'node:util'
import { CofferError } from '../../firmware/base/error.ts'
import { createLog } from '../../firmware/base/log.ts'
import type { SlotStep } from '../../firmware/channel/protocol.ts'
import { isPlainName, readArchive } from '../../firmware/release/cpio.ts'
import { createStager } from '../../firmware/release/stager.ts'
import { archive, goodImage, goodManifest, head, INSTALLED, PAYLOAD, RELEASE, releasePublicKey } from './archives.ts'

const INTERESTING = [
  '070701',
  '070702',
  'TRAILER!!!\0',
  'ffffffff',
  '00000000',
  '\0',
  '/',
  '..',
  'manifest.sig\0',
  '0000A1FF',
]

const RUN_MS_MAX = 2000
const READER_RUNS = 30 // as many as a verified signature takes time

if (import.meta.main) {
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' } } })
  const result = await fuzz(Number(values.seconds ?? 60), Number(values.seed ?? Date.now() % 2 ** 32))
  console.log(result)
}

interface FuzzResult {
  seed: number
  runs: number
  accepted: number
  messages: number
}

export async function fuzz(seconds: number, seed: number): Promise<FuzzResult> {
  const random = createRandom(seed)
  const good = goodImage()
  const messages = new Set<string>()
  const end = performance.now() + seconds * 1000
  let accepted = 0
  let runs = 0
  for (; runs === 0 || performance.now() < end; runs++) {
    const started = process.cpuUsage() // others may have the machine
    if (runs % READER_RUNS === 0) await stage(mutateSigned(random))
    else await read(mutate(good, random))
    const { user, system } = process.cpuUsage(started)
    check((user + system) / 1000 < RUN_MS_MAX, 'too slow')
  }
  return { seed, runs, accepted, messages: messages.size }

  async function stage(image: Uint8Array): Promise<void> {
    const machine = fakeSlot()
    const log = createLog('error', () => {})
    const { product } = RELEASE
    const stager = createStager({
      bootManager: machine,
      releaseKey: releasePublicKey,
      product,
      version: INSTALLED,
      log,
    })
    try {
      await stager.stage(pieces(image, random))
      accepted++
      check(machine.holdsRelease(), 'something else than the release was taken')
    } catch (error) {
      note(error)
      check(machine.isEmpty(), 'something was left behind')
    }
  }

  /** Through the reader alone, which is much faster. */
  async function read(image: Uint8Array): Promise<void> {
    let bytes = 0
    try {
      for await (const { name, size, content } of readArchive(pieces(image, random))) {
        check(isPlainName(name), 'a name that is not plain')
        const before = bytes
        for await (const piece of content) bytes += piece.length
        check(bytes - before === size && bytes < image.length, 'a content that is not there')
      }
    } catch (error) {
      note(error)
    }
  }

  function note(error: unknown): void {
    check(error instanceof CofferError && (error.code === 'invalid' || error.code === 'conflict'), error)
    messages.add((error as Error).message.replace(/\d+/g, '#'))
  }

  function check(holds: boolean, what: unknown): void {
    if (!holds) throw new Error(`seed ${seed}, run ${runs}: ${what instanceof Error ? what.stack : String(what)}`)
  }
}

/** Half of them with a changed manifest under a good signature. */
function mutateSigned(random: Random): Uint8Array {
  if (random(2) === 0) return mutate(goodImage(), random)
  const manifest = Buffer.from(head(goodManifest())[0]!.bytes!)
  for (let edits = random(3); edits >= 0; edits--) manifest[random(manifest.length)]! ^= 1 << random(7)
  return archive([...head(manifest), ...PAYLOAD])
}

type Random = (below: number) => number

/** Xorshift, so that a seed tells everything. Marsaglia, "Xorshift RNGs", 2003. */
function createRandom(seed: number): Random {
  let state = seed | 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

function mutate(good: Uint8Array, random: Random): Uint8Array {
  let image = Buffer.from(good)
  for (let edits = random(4); edits >= 0; edits--) {
    const place = random(image.length + 1)
    const bytes = 1 + random(random(8) === 0 ? image.length : 16)
    switch (random(8)) {
      case 0:
        image = image.subarray(0, place)
        break
      case 1:
        image = Buffer.concat([image.subarray(0, place), image.subarray(place + bytes)])
        break
      case 2:
        image = Buffer.concat([
          image.subarray(0, place),
          image.subarray(random(place + 1), place),
          image.subarray(place),
        ])
        break
      case 3:
        image = Buffer.concat([image, Buffer.alloc(bytes, random(2) * random(256))])
        break
      case 4: {
        const text = Buffer.from(INTERESTING[random(INTERESTING.length)]!, 'latin1')
        image = Buffer.concat([image.subarray(0, place), text, image.subarray(place + text.length)])
        break
      }
      case 5:
        if (place < image.length) image[place] = '0123456789abcdefABCDEF'.charCodeAt(random(22))
        break
      case 6:
        if (place < image.length) image[place]! ^= 1 << random(8)
        break
      case 7:
        image.fill(random(256), place, Math.min(image.length, place + bytes))
    }
    if (image.length === 0) break
  }
  return image
}

async function* pieces(image: Uint8Array, random: Random): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < image.length; ) {
    const bytes = random(4) === 0 ? random(8) : random(8192)
    yield image.subarray(offset, offset + bytes)
    offset += bytes
  }
}

function fakeSlot() {
  let files: Map<string, Uint8Array[]> | null = null
  let finished = false
  return {
    slot: async (step: SlotStep) => {
      if (step.do === 'begin') files = new Map()
      else if (step.do === 'discard') files = null
      else if (step.do === 'finish') finished = true
      else if (step.do === 'write') {
        const parts = files!.get(step.name) ?? []
        parts.push(step.bytes.slice())
        files!.set(step.name, parts)
      }
    },
    isEmpty: () => files === null,
    holdsRelease: () =>
      finished &&
      files !== null &&
      files.size === PAYLOAD.length &&
      PAYLOAD.every(({ name, bytes }) => Buffer.concat(files?.get(name) ?? []).equals(bytes!)),
  }
}
