// @test long 60
/**
 * A locked Coffer holds no credentials and no data of requests: the memory of all its processes, read from outside after it was used over the
 * transit API as by its clients, whose connections stay open.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { search, type Traces } from '../crypto/memory-search.ts'
import { expect } from '../support/appliance.ts'
import { RawClient } from '../support/raw-client.ts'
import { ADMIN, type Appliance, startProvisioned } from '../support/suite.ts'

const ROUNDS = 12 // of all kinds of requests, at the same time
const BATCH_ITEMS = 40
const LOOKS_MAX = 30 // each takes seconds, and the last overwriting comes a minute after the lock
const BETWEEN_LOOKS_MS = 1000

const BETWEEN_PIECES_MS = 20 // so that they seldom arrive together; that they do harms no test

const WINDOW_BYTES = 12
const STRIDE_BYTES = 6
const WIDE_BYTES = 2 * WINDOW_BYTES

let appliance: Appliance
const sought: Traces[] = []
before(async () => {
  appliance = await startProvisioned()
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 1 } }))
})
after(() => appliance.dispose())

function windows(bytes: Buffer, length = WINDOW_BYTES, stride = STRIDE_BYTES): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0; at + length <= bytes.length; at += stride) found.push(bytes.subarray(at, at + length))
  return found
}

const windowsOfText = (text: string): Buffer[] => [
  ...windows(Buffer.from(text)),
  ...windows(Buffer.from(text, 'utf16le'), WIDE_BYTES, 2 * STRIDE_BYTES),
]

const seek = (name: string, patterns: readonly Buffer[]): void => void sought.push({ name, patterns, limbs: [] })

/** Random base64 that is found again also as its bytes, and in the forms that engines give to text. */
function newSecret(name: string, bytes = 48): string {
  const secret = randomBytes(bytes)
  const texts = (['base64', 'base64url', 'hex'] as const).map((encoding) => secret.toString(encoding))
  seek(name, [...windows(secret), ...texts.flatMap(windowsOfText)])
  return secret.toString('base64')
}

/** MACs tell tokens of the same user apart; the rest of them is no secret. */
const MAC_CHARACTERS = 43
function seekToken(name: string, token: string): string {
  const mac = token.slice(-MAC_CHARACTERS)
  seek(name, [...windowsOfText(mac), ...windows(Buffer.from(token.slice(2), 'base64url').subarray(-32))])
  return token
}

async function say(method: string, path: string, token: string | null, json?: object) {
  const headers = token === null ? {} : { 'x-vault-token': token }
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const { status, bytes } = await appliance.call(method, `//v1/${path}`, { headers, ...body })
  assert.ok(status === 200 || status === 204, `${path}: ${status} ${bytes}`)
  return status === 204 ? null : JSON.parse(String(bytes))
}

async function addOperator(userId: string): Promise<string> {
  const passphrase = newSecret(`passphrase of ${userId}`, 24)
  const json = { realName: userId, role: 'Operator', passphrase }
  await expect(201, appliance.call('PUT', `/users/${userId}`, { as: ADMIN, json }))
  seekCredentials(userId, passphrase)
  return passphrase
}

/** Seeks the part of the header's text that follows the name. */
function seekCredentials(userId: string, passphrase: string): void {
  const text = Buffer.from(`${userId}:${passphrase}`).toString('base64')
  seek(`credentials of ${userId}`, windowsOfText(text.slice(Math.ceil((userId.length + 1) / 3) * 4)))
}

const tokenIn = (name: string, { auth }: { auth: { client_token: string } }): string =>
  seekToken(name, auth.client_token)

/** All kinds of requests that carry a secret, each with its own. */
async function round(n: number, passphrase: string, token: string): Promise<void> {
  const use = (path: string, json: object) => say('POST', `transit/${path}`, token, json)
  const encrypt = (plaintext: string) => use('encrypt/app', { plaintext })
  const logIn = async () => {
    tokenIn(`userpass ${n}`, await say('POST', 'auth/userpass/login/web', null, { password: passphrase }))
    const approle = await say('POST', 'auth/approle/login', null, { role_id: 'web', secret_id: passphrase })
    tokenIn(`approle ${n}`, approle)
  }
  const endToken = async () => {
    const child = tokenIn(`child ${n}`, await say('POST', 'auth/token/create', token, { ttl: '10m' }))
    await say('GET', 'auth/token/lookup-self', child)
    await say('POST', 'auth/token/lookup', child, { token: child })
    await say('POST', 'auth/token/revoke-self', child)
  }
  const encryptMany = async () => {
    const batch_input = Array.from({ length: BATCH_ITEMS }, (_, k) => ({ plaintext: newSecret(`item ${n}.${k}`) }))
    const { data } = await use('encrypt/app', { batch_input })
    await use('decrypt/app', { batch_input: data.batch_results })
  }
  await Promise.all([
    logIn(),
    endToken(),
    encrypt(newSecret(`plaintext ${n}`)),
    encrypt(newSecret(`decrypted plaintext ${n}`)).then(({ data }) => use('decrypt/app', data)),
    encryptMany(),
    use('sign/signer', { input: newSecret(`signed input ${n}`) }),
    use('hmac/mac', { input: newSecret(`input of a MAC ${n}`) }),
    use('hash', { input: newSecret(`hashed input ${n}`) }),
    expect(200, appliance.call('GET', '/keys', { as: `web:${passphrase}` })),
  ])
}

/**
 * Requests that the parser gets piece by piece, and as a stream. Node's parser keeps copies of such a head until its connection ends; the
 * caller ends it.
 */
async function inPieces(t: TestContext, passphrase: string): Promise<RawClient> {
  const client = await RawClient.connect(appliance)
  t.after(() => client.socket.destroy())
  const login = await say('POST', 'auth/userpass/login/web', null, { password: passphrase })
  const token = tokenIn('token in pieces', login)
  for (const line of ['GET /v1/auth/token/lookup-self', 'LIST /v1/transit/keys', 'GET /v1/sys/mounts']) {
    const head = `${line} HTTP/1.1\r\nhost: coffer\r\nx-vault-token: ${token}\r\n`
    for (const piece of [head.slice(0, -20), head.slice(-20), '\r\n']) {
      await client.send(piece)
      await delay(BETWEEN_PIECES_MS)
    }
    const [answer] = await client.answers(1)
    assert.equal(answer?.status, 200, line)
  }
  return client
}

const look = (): string[] => {
  const found = appliance
    .processes()
    .flatMap((pid, at) => search(pid, sought).pieces.map(({ name, region }) => `${name} in process ${at}, ${region}`))
  return [...new Set(found)]
}

test('nothing is left of tokens, passphrases and plaintexts a moment after a lock', async (t) => {
  const admin = tokenIn(
    'token of the administrator',
    await say('POST', 'auth/userpass/login/admin', null, { password: ADMIN.slice(ADMIN.indexOf(':') + 1) }),
  )
  const types = { app: 'aes256-gcm96', signer: 'ecdsa-p256', mac: 'hmac' }
  for (const [name, type] of Object.entries(types))
    await say('POST', `transit/keys/${name}`, admin, { type, ...(type === 'hmac' && { key_size: 32 }) })
  const passphrase = await addOperator('web')
  const login = await say('POST', 'auth/userpass/login/web', null, { password: passphrase })
  const token = tokenIn('token', login)
  await Promise.all(Array.from({ length: ROUNDS }, (_, n) => round(n, passphrase, token)))
  const client = await inPieces(t, passphrase)
  seekCredentials('admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  assert.ok(look().length > 0, 'nothing was found before the lock')
  await delay(BETWEEN_LOOKS_MS) // the look held up this process: its agent hears of connections that have ended meanwhile

  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  client.destroy()
  let found = look()
  for (let looks = 1; found.length > 0 && looks < LOOKS_MAX; looks++) {
    await delay(BETWEEN_LOOKS_MS)
    found = look()
  }
  assert.deepEqual(found, [])
  assert.equal(await appliance.state(), 'Locked')
})
