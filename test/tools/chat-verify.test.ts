/** The verifier of the chat's exports: members and files in another order, or twice, are a change, also where the signature holds. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hexToBytes } from '@noble/hashes/utils.js'
import { archiveOf, createExportKey, MANIFEST, SIGNATURE } from '../../firmware/chat/realm/export/archive.ts'
import { TAR_END, tarHeader, tarPadding } from '../../firmware/chat/realm/export/tar.ts'
import { verifyExport } from '../../tools/chat-verify.ts'

const key = createExportKey(new Uint8Array(32).fill(7))

async function* files() {
  yield { name: 'realm.json', size: 2, chunks: [Buffer.from('{}')] }
}

async function archive(): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  const about = { organization: 'Example', url: 'https://chat.example', type: 'public', time: 1_700_000_000 }
  for await (const piece of archiveOf(files(), about, key)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const member = (name: string, bytes: Uint8Array) =>
  Buffer.concat([tarHeader(name, bytes.length), bytes, tarPadding(bytes.length)])

/** The archive with another manifest, signed, and the two last members in the order that is given. */
async function withManifest(change: (text: string) => string, order: 'right' | 'swapped' = 'right'): Promise<Buffer> {
  const whole = await archive()
  const at = whole.indexOf(MANIFEST)
  const size = Number.parseInt(whole.toString('latin1', at + 124, at + 135), 8)
  const text = Buffer.from(change(whole.toString('utf8', at + 512, at + 512 + size)))
  const members = [member(MANIFEST, text), member(SIGNATURE, Buffer.from(key.sign(text)))]
  return Buffer.concat([whole.subarray(0, at), ...(order === 'right' ? members : members.reverse()), TAR_END])
}

async function problemOf(bytes: Uint8Array): Promise<string | null> {
  const chunks = async function* () {
    yield bytes
  }
  return (await verifyExport(chunks(), key.publicKey)).problem
}

test('an export as it is holds', async () => {
  assert.equal(hexToBytes(key.publicKey).length, 32)
  assert.equal(await problemOf(await archive()), null)
  assert.equal(await problemOf(await withManifest((text) => text)), null)
})

test('finds a signature before the manifest', async () => {
  assert.match((await problemOf(await withManifest((text) => text, 'swapped')))!, /not behind/)
})

test('finds a manifest that names a member twice', async () => {
  const changes = [
    (text: string) => text.replace('{', '{"organization":"Another",'),
    (text: string) => text.replace('"name":', '"name":"other.json","name":'),
    (text: string) => text.replace('{', '{"fil\\u0065s":[],'),
  ]
  for (const change of changes) assert.match((await problemOf(await withManifest(change)))!, /manifest .* was changed/)
})

test('finds a manifest that is not UTF-8', async () => {
  assert.match((await problemOf(await withManifest((text) => `\ufeff${text}`)))!, /manifest .* was changed/)
})
