// @test long 20
/** The search of a browser's profile finds what the browser has written, whatever form an answer had on its way. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { startProfile } from '../../../tools/browser.ts'
import { launchBrowser } from '../../console/browser.ts'
import { findInProfile } from './profile-files.ts'

const WORDS = {
  identity: 'aardvark words',
  gzip: 'badger words',
  deflate: 'caracal words',
  br: 'dugong words',
  zstd: 'ermine words',
  base64: 'ferret words',
}
const CODERS: Record<string, (bytes: string) => Buffer | string> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  base64: (text) => Buffer.from(text).toString('base64'),
}

await (await launchBrowser()).close()

test('words are found in clear, in base64, and compressed by gzip, zlib, brotli and zstd; others are not', async () => {
  const filler = Array.from({ length: 400 }, (_, at) => `${at} lines that compress`).join('\n')
  const server = createServer(({ url = '/' }, answer) => {
    const name = url.slice(1)
    const text = `${filler}\n${WORDS[name as keyof typeof WORDS] ?? ''}\n${filler}`
    answer.setHeader('content-type', 'text/plain')
    answer.setHeader('cache-control', 'max-age=86400')
    if (name !== 'identity' && name !== 'base64') answer.setHeader('content-encoding', name)
    answer.end(CODERS[name]?.(text) ?? text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const context = await startProfile(profile, {})
  const page = context.pages()[0] ?? (await context.newPage())
  for (const name of Object.keys(WORDS))
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`)
  await context.close()
  server.close()
  const forms = Object.values(WORDS).map((word) => [
    ...new Set(findInProfile(profile, word).map((one) => one.split(' of ')[0])),
  ])
  assert.deepEqual(forms, [['clear'], ['gzip clear'], ['zlib clear'], ['brotli clear'], ['zstd clear'], ['base64']])
  assert.deepEqual(findInProfile(profile, 'gibbon words'), [])
  rmSync(profile, { recursive: true })
})
