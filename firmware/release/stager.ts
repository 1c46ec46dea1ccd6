/** Takes an update image from the network into the inactive slot. Contract section 9. */

import { createHash, type Hash } from 'node:crypto'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import type { BootManager } from '../channel/boot-manager.ts'
import { SLOT_WRITE_BYTES_MAX } from '../channel/protocol.ts'
import { type Member, readArchive } from './cpio.ts'
import {
  MANIFEST,
  MANIFEST_BYTES_MAX,
  type Manifest,
  type ManifestMember,
  openManifest,
  SIGNATURE,
  SIGNATURE_BYTES,
} from './manifest.ts'
import { compareVersions, parseVersion } from './version.ts'

interface StagerOptions {
  bootManager: Pick<BootManager, 'slot'>
  /** Null when none is installed. */
  releaseKey: Uint8Array | null
  product: string
  version: string
  log: Log
  /** Called with false when a commit has failed, and with true when no update is pending any more. */
  onEnd?: (isDone: boolean) => void
}

export interface Stager {
  /**
   * Reads an image; it is then pending. Returns its release notes. Throws `conflict` while another one is pending or on
   * its way, or when this one is too old; `invalid` for anything else that is wrong with it, and leaves nothing behind.
   */
  stage(chunks: AsyncIterable<Uint8Array>): Promise<string>
  /** Makes the pending version the one that runs after a restart. Throws `unavailable` when none is pending. */
  commit(): Promise<void>
  /** Throws `unavailable` when none is pending. */
  cancel(): Promise<void>
}

export function createStager({ bootManager, releaseKey, product, version, log, onEnd }: StagerOptions): Stager {
  let phase: 'idle' | 'busy' | 'pending' = 'idle'
  let staged = ''

  /** From `pending` to `idle`; still pending when the step fails. */
  async function leave(step: 'activate' | 'discard'): Promise<void> {
    if (phase !== 'pending') throw new CofferError('unavailable', 'No update has been uploaded')
    phase = 'busy'
    try {
      await bootManager.slot({ do: step })
      phase = 'idle'
    } finally {
      const isDone = phase === 'idle'
      if (isDone || step === 'activate') onEnd?.(isDone)
      if (!isDone) phase = 'pending'
    }
  }

  return {
    stage: async (chunks) => {
      if (phase === 'pending') throw new CofferError('conflict', 'An update is pending: commit it or cancel it')
      if (phase === 'busy') throw new CofferError('conflict', 'An update is being uploaded')
      if (releaseKey === null)
        throw new CofferError('invalid', 'This appliance has no release key, so no update can be verified')
      phase = 'busy'
      const archive = readArchive(chunks)
      try {
        const [bytes, signature] = await readHead(archive)
        const manifest = openManifest(bytes, signature, releaseKey)
        refuseOther(manifest, product)
        refuseOlder(manifest, version)
        await fillSlot(bootManager, { bytes, signature, manifest }, archive)
        phase = 'pending'
        staged = manifest.version
        log.info('general', `update to version ${staged} is pending`)
        return manifest.releaseNotes
      } finally {
        await archive.return()
        if (phase === 'busy') phase = 'idle'
      }
    },
    commit: async () => {
      await leave('activate')
      log.info('general', `update to version ${staged} starts with the next restart`)
    },
    cancel: async () => {
      await leave('discard')
      log.info('general', `update to version ${staged} was canceled`)
    },
  }
}

type Archive = AsyncGenerator<Member, void>

/** Manifest and signature, as bytes: nothing is believed yet. */
async function readHead(archive: Archive): Promise<[manifest: Uint8Array, signature: Uint8Array]> {
  const manifest = await readSmall(await nextMember(archive, MANIFEST, []), 1, MANIFEST_BYTES_MAX)
  const signature = await readSmall(await nextMember(archive, SIGNATURE, [MANIFEST]), SIGNATURE_BYTES, SIGNATURE_BYTES)
  return [manifest, signature]
}

async function readSmall({ name, size, content }: Member, bytesMin: number, bytesMax: number): Promise<Uint8Array> {
  if (size < bytesMin || size > bytesMax) {
    const bounds = bytesMin === bytesMax ? `${bytesMax}` : `${bytesMin} to ${bytesMax}`
    throw new CofferError('invalid', `${name} has ${size} bytes, not ${bounds}`)
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for await (const piece of content) {
    bytes.set(piece, offset)
    offset += piece.length
  }
  return bytes
}

async function nextMember(archive: Archive, expected: string, before: readonly string[]): Promise<Member> {
  const { value: member } = await archive.next()
  if (!member) throw new CofferError('invalid', `The image ends where ${expected} is expected`)
  if (member.name === expected) return member
  throw new CofferError('invalid', explain(member.name, expected, before))
}

const explain = (name: string, expected: string, before: readonly string[]): string =>
  before.includes(name)
    ? `${name} is repeated where ${expected} is expected`
    : `${name} stands where ${expected} is expected`

function refuseOther(manifest: Manifest, product: string): void {
  if (manifest.product !== product)
    throw new CofferError('invalid', `The image is for the product ${JSON.stringify(manifest.product)}, not ${product}`)
}

/** Newer or older minor versions are taken alike; older major ones are not. */
function refuseOlder({ version, minimumVersion }: Manifest, installed: string): void {
  const ours = defined(parseVersion(installed))
  if (defined(parseVersion(version))[0] < ours[0])
    throw new CofferError('conflict', `Version ${version} has an older major version than the installed ${installed}`)
  if (compareVersions(ours, defined(parseVersion(minimumVersion))) < 0)
    throw new CofferError('conflict', `Version ${version} needs at least version ${minimumVersion}, not ${installed}`)
}

interface Head {
  bytes: Uint8Array
  signature: Uint8Array
  manifest: Manifest
}

/** After an error of any kind the slot is empty again. */
async function fillSlot(
  { slot }: StagerOptions['bootManager'],
  { bytes, signature, manifest }: Head,
  archive: Archive,
) {
  try {
    await slot({ do: 'begin', manifest: bytes, signature })
    const before = [MANIFEST, SIGNATURE]
    for (const expected of manifest.members) {
      await copyMember(await nextMember(archive, expected.name, before), expected, slot)
      before.push(expected.name)
    }
    const { value: more } = await archive.next()
    if (more) {
      const what = before.includes(more.name) ? 'is repeated' : 'is not in the manifest'
      throw new CofferError('invalid', `${more.name} ${what}: the image should end there`)
    }
    await slot({ do: 'finish' })
  } catch (error) {
    await slot({ do: 'discard' })
    throw error
  }
}

async function copyMember({ name, size, content }: Member, expected: ManifestMember, slot: BootManager['slot']) {
  if (size !== expected.size)
    throw new CofferError('invalid', `${name} has ${size} bytes, the manifest says ${expected.size}`)
  const hash = createHash('sha512')
  // Each step is answered before the next one: what arrives in small pieces is passed on in large ones.
  const gathered = new Uint8Array(Math.min(size, SLOT_WRITE_BYTES_MAX))
  let length = 0
  const passOn = async () => {
    if (length > 0) await slot({ do: 'write', name, bytes: gathered.subarray(0, length) })
    length = 0
  }
  for await (const piece of content) {
    hash.update(piece)
    for (let offset = 0; offset < piece.length; ) {
      const part = piece.subarray(offset, offset + gathered.length - length)
      gathered.set(part, length)
      length += part.length
      offset += part.length
      if (length === gathered.length) await passOn()
    }
  }
  await passOn()
  checkHash(name, hash, expected.sha512)
}

function checkHash(name: string, hash: Hash, expected: string): void {
  if (hash.digest('hex') !== expected)
    throw new CofferError('invalid', `The content of ${name} does not match the manifest`)
}
