/** The files of the page as the chat's process answers them: contract section 3.10, and what they weigh. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { createLog } from '../../../firmware/base/log.ts'
import { openPageFiles } from '../../../firmware/chat/process/page-files.ts'
import { exchangeOf } from '../../../firmware/http/server/exchange.ts'
import { buildChatPage } from '../../../tools/build-chat-page.ts'

const KB = 1000
const built = await buildChatPage()
const directory = mkdtempSync(join(tmpdir(), 'coffer-page-'))
const file = pathToFileURL(join(directory, 'chat-page.bin'))
writeFileSync(file, built.bytes)
let realmName: string | null = null
const logged: string[] = []
const options = {
  ...{ file, realmName: () => realmName, timeS: () => 0, nowMs: () => 0 },
  log: createLog('info', ({ message }) => logged.push(message)),
}
const page = openPageFiles(options)!
after(() => {
  page.close()
  rmSync(directory, { recursive: true })
})

async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const raw = new Request(`https://chat.example${path}`, { method, headers })
  const answer = page.answer(exchangeOf({ env: {}, req: { raw } }))
  if (answer === undefined) return null
  const response = await answer
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

test('entry script and style are small, and the same sources give the same bytes', async () => {
  const sizesOf = (type: string) =>
    built.files.filter((one) => one.type.startsWith(type)).map(({ brotli }) => brotli.length)
  const [main, ...onDemand] = sizesOf('text/javascript')
  const [style] = sizesOf('text/css')
  assert.ok(main! <= 60 * KB, `${main} bytes of script`)
  assert.ok(style! <= 9 * KB, `${style} bytes of style`)
  assert.ok(onDemand.length > 1)
  for (const script of onDemand) assert.ok(script <= 60 * KB, `${script} bytes of script on demand`)
  assert.deepEqual(Buffer.from((await buildChatPage()).bytes), Buffer.from(built.bytes))
  for (const input of Object.keys(built.metafile.inputs))
    assert.match(
      input,
      /^(?:firmware\/(?:(?:chat-page|web)\/|base\/defined\.ts$)|node_modules\/(?:highlight\.js|preact|@preact\/signals|@preact\/signals-core)\/)/,
    )
  const html = Buffer.from(built.files[0]!.content).toString()
  assert.doesNotMatch(html, /<style|style=|<script>|onload|https?:|\/page\/(main|style|icon)\./)
})

test('four addresses have the one HTML, others none', async () => {
  const html = Buffer.from(built.files[0]!.content)
  for (const path of ['/', '/join/', '/login/', '/password/', '/?x=1']) {
    const answer = await get(path)
    assert.deepEqual(answer!.bytes, html, path)
    assert.equal(answer!.headers.get('cache-control'), 'no-cache')
    assert.match(answer!.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self'; /)
    for (const name of ['cross-origin-opener-policy', 'referrer-policy', 'permissions-policy', 'etag'])
      assert.ok(answer!.headers.get(name), name)
  }
  for (const path of [
    '/join',
    '/index.html',
    '/page/',
    '/page/x.js',
    '/api/v1/server_settings',
    '//',
    '/join/x',
    '/__proto__',
  ])
    assert.equal(await get(path), null, path)
})

test('the HTML is that of the first language that the browser asks for, and whose words the page has', async () => {
  const htmlIn = async (language?: string) =>
    (await get('/', language === undefined ? {} : { 'accept-language': language }))!.bytes.toString()
  const [english, german] = [await htmlIn('en'), await htmlIn('de')]
  assert.notEqual(english, german)
  for (const header of [
    undefined,
    '',
    'fr',
    '*',
    'en-US',
    'en, de',
    'fr;q=1, en;q=0.9, de;q=0.8',
    'de;q=0',
    'de;q=x;,;;',
  ])
    assert.equal(await htmlIn(header), header === 'de;q=x;,;;' ? german : english, header)
  for (const header of ['de-AT', 'DE', 'en;q=0.5, de;q=0.9', 'fr, de;q=0.7, en;q=0.3', ' de-CH , en;q=0.1'])
    assert.equal(await htmlIn(header), german, header)
})

test('every file comes plain and compressed, with a strong etag of its own', async () => {
  for (const { path, content, type, language = '' } of built.files) {
    const wanted = { 'accept-language': language }
    const plain = (await get(path, { 'accept-encoding': 'gzip, br;q=0', ...wanted }))!
    const small = (await get(path, { 'accept-encoding': 'gzip, br', ...wanted }))!
    assert.deepEqual(plain.bytes, Buffer.from(content), path)
    assert.deepEqual(brotliDecompressSync(small.bytes), Buffer.from(content))
    assert.equal(small.headers.get('content-encoding'), 'br')
    for (const { headers, bytes } of [plain, small]) {
      assert.equal(headers.get('content-type'), type)
      assert.equal(headers.get('content-length'), String(bytes.length))
      assert.equal(headers.get('vary'), language === '' ? 'accept-encoding' : 'accept-encoding, accept-language')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.match(headers.get('etag')!, /^"[^"]+"$/)
      const isNamedByContent = path !== '/' && path !== '/service-worker.js'
      const lifetime = isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache'
      assert.equal(headers.get('cache-control'), lifetime)
    }
    assert.notEqual(plain.headers.get('etag'), small.headers.get('etag'))
    const conditions = { 'accept-encoding': 'br', 'if-none-match': small.headers.get('etag')!, ...wanted }
    const unchanged = (await get(path, conditions))!
    assert.deepEqual([unchanged.status, unchanged.bytes.length], [304, 0])
    assert.equal((await get(path, { 'if-match': '"x"' }))!.status, 412)
  }
})

test('the service worker stores every file of the page, and the policy permits its address alone', async () => {
  const stored = new Set<string>()
  for (const language of ['en', 'de']) {
    const [html, worker] = await Promise.all(
      ['/', '/service-worker.js'].map((path) => get(path, { 'accept-language': language })),
    )
    const paths = [...worker!.bytes.toString().matchAll(/"(\/page\/[^"]+)"/g)].map(([, path]) => path!)
    for (const [, path] of html!.bytes.toString().matchAll(/"(\/page\/[^"]+)"/g)) assert.ok(paths.includes(path!), path)
    for (const path of paths) stored.add(path)
  }
  for (const { path } of built.files) if (path.startsWith('/page/')) assert.ok(stored.has(path), path)
  assert.match((await get('/'))!.headers.get('content-security-policy')!, /; trusted-types coffer$/)
})

test('the manifest has the name of the organization once that is open', async () => {
  const nameOf = async () => JSON.parse((await get('/manifest.webmanifest'))!.bytes.toString()).name
  const before = (await get('/manifest.webmanifest'))!.headers.get('etag')!
  assert.equal(await nameOf(), 'Coffer')
  realmName = 'Example "quoted"'
  assert.equal(await nameOf(), realmName)
  assert.equal((await get('/manifest.webmanifest', { 'if-none-match': before }))!.status, 200)
})

test('other methods are 405, and files without end are refused', async () => {
  const post = (await get('/', {}, 'POST'))!
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  let refused = 0
  for (let call = 0; call < 2100; call++) if ((await get('/manifest.webmanifest'))!.status === 429) refused++
  assert.ok(refused > 100 && refused < 300, `${refused} of 2100`)
})

test('a program without the page serves none, and says why', () => {
  assert.equal(openPageFiles({ ...options, file: null }), undefined)
  assert.deepEqual(logged, [])
  assert.equal(openPageFiles({ ...options, file: new URL('missing.bin', file) }), undefined)
  assert.match(logged.join(), /cannot open the page: ENOENT/)
})
