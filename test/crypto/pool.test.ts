import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { constants, createHash, createPublicKey, publicEncrypt, scryptSync, verify } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { schnorr } from '@noble/curves/secp256k1.js'
import { build } from 'esbuild'
import { CofferError, type ErrorCode } from '../../firmware/base/error.ts'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { publicKeyPem } from '../../firmware/crypto/encoding/public-key.ts'
import { ML_DSA_SETS } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { expandedMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { verifyMlDsa } from '../../firmware/crypto/ml-dsa/verification.ts'
import { createPool, type StartedPool } from '../../firmware/crypto/pool/pool.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { decodeRsaPrivateKey } from '../../firmware/crypto/rsa/private-key.ts'
import type { CryptoPool, EcKeyType, KeyHandle, KeyPair, KeyType } from '../../firmware/crypto/types.ts'
import { file, toHex } from './support.ts'

const ENTRY = new URL('../../firmware/crypto/pool/worker.ts', import.meta.url)

async function withPool(work: (pool: StartedPool) => Promise<void>, workers = 1, entry = ENTRY): Promise<void> {
  const pool = createPool({ workers, entry })
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}

let lastRef = 0
function stored(pair: KeyPair): KeyHandle & { loads: number; handedOut: Uint8Array[] } {
  const handle = {
    ref: ++lastRef,
    type: pair.type,
    loads: 0,
    handedOut: [] as Uint8Array[],
    load: () => {
      handle.loads++
      const bytes = pair.private.slice()
      handle.handedOut.push(bytes)
      return bytes
    },
  }
  return handle
}

const code =
  (expected: ErrorCode, text = '') =>
  (error: unknown) =>
    error instanceof CofferError && error.code === expected && error.message.includes(text)

test('ML-DSA keys are generated, used with a context, and imported as a seed, expanded or both', () =>
  withPool(async (pool) => {
    for (const type of ML_DSA_SETS) {
      const pair = await pool.generate(type)
      const { data: publicKey } = pair.public as { data: Uint8Array }
      const [text, context] = [Buffer.from('text'), Buffer.from('context')]
      const key = stored(pair)
      const signature = await pool.sign(key, 'ML_DSA', text, context)
      assert.ok(verifyMlDsa(type, publicKey, 'ML_DSA', text, signature, context))
      const mu = systemRandom(64)
      assert.ok(verifyMlDsa(type, publicKey, 'ML_DSA_EXTERNAL_MU', mu, await pool.sign(key, 'ML_DSA_EXTERNAL_MU', mu)))
      assert.equal(key.loads, 1)
      await assert.rejects(pool.sign(key, 'EdDSA', text), code('invalid', 'mode'))
      await assert.rejects(pool.sign(key, 'ML_DSA', text, new Uint8Array(256)), code('invalid', 'context'))
      await assert.rejects(pool.decrypt(key, 'RAW', text), code('invalid', 'decrypt'))
      const expanded = expandedMlDsa(type, pair.private)
      assert.deepEqual(await pool.importRaw(type, pair.private), pair)
      assert.deepEqual(await pool.importRaw(type, pair.private, expanded), pair)
      assert.deepEqual(await pool.importRaw(type, expanded), { ...pair, private: expanded })
      await assert.rejects(pool.importRaw(type, systemRandom(32), expanded), code('invalid', 'agree'))
      await assert.rejects(pool.importRaw(type, new Uint8Array(33)), code('invalid', 'data'))
    }
  }))

test('every curve type is generated, used and imported through the pool', () =>
  withPool(async (pool) => {
    for (const type of Object.keys(CURVES) as EcKeyType[]) {
      const pair = await pool.generate(type)
      const hash = CURVES[type].hash
      const signature = await pool.sign(stored(pair), 'ECDSA', createHash(hash).update('text').digest())
      assert.ok(verify(hash, Buffer.from('text'), publicKeyPem(type, pair.public), signature), type)
      assert.deepEqual(await pool.importRaw(type, pair.private), pair)
    }
    const pair = await pool.generate('Curve25519')
    const signature = await pool.sign(stored(pair), 'EdDSA', Buffer.from('text'))
    assert.ok(verify(null, Buffer.from('text'), publicKeyPem('Curve25519', pair.public), signature))
    assert.deepEqual(await pool.importRaw('Curve25519', pair.private), pair)
    const k1 = await pool.generate('EC_P256K1')
    assert.ok(k1.public !== null && 'data' in k1.public)
    const schnorrSignature = await pool.sign(stored(k1), 'BIP340', Buffer.from('text'))
    assert.ok(schnorr.verify(schnorrSignature, Buffer.from('text'), k1.public.data.subarray(1, 33)))
  }))

test('Generic keys have ceil(length / 8) random bytes and encrypt and decrypt', () =>
  withPool(async (pool) => {
    for (const bits of [128, 129, 256, 512, 8192]) {
      const pair = await pool.generate('Generic', bits)
      assert.equal(pair.private.length, Math.ceil(bits / 8))
      assert.equal(pair.public, null)
    }
    const [first, second] = [await pool.generate('Generic', 256), await pool.generate('Generic', 256)]
    assert.notDeepEqual(first, second)
    const [key, iv, message] = [stored(first), systemRandom(16), systemRandom(64)]
    const encrypted = await pool.encrypt(key, 'AES_CBC', message, iv)
    assert.notDeepEqual(encrypted, message)
    assert.deepEqual(await pool.decrypt(key, 'AES_CBC', encrypted, iv), message)
    for (const bytes of [16, 1024]) {
      const data = systemRandom(bytes)
      assert.deepEqual(await pool.importRaw('Generic', data), { type: 'Generic', private: data, public: null })
    }
    for (const bytes of [0, 15, 1025]) {
      await assert.rejects(pool.importRaw('Generic', new Uint8Array(bytes)), code('invalid', 'data'))
    }
    for (const bits of [127, 8193, undefined]) {
      await assert.rejects(pool.generate('Generic', bits), code('invalid', 'length'))
    }
  }))

test('scrypt through the pool agrees with OpenSSL', () =>
  withPool(async (pool) => {
    const [passphrase, salt] = [systemRandom(20), systemRandom(16)]
    const cost = { N: 1024, r: 8, p: 2 }
    assert.equal(toHex(await pool.scrypt(passphrase, salt, cost)), toHex(scryptSync(passphrase, salt, 32, cost)))
  }))

test('refusals come back as they were made', () =>
  withPool(async (pool) => {
    const p256 = stored(await pool.generate('EC_P256'))
    const generic = stored(await pool.generate('Generic', 512))
    await assert.rejects(pool.sign(p256, 'ECDSA', new Uint8Array(31)), code('invalid', 'exactly 32 bytes'))
    await assert.rejects(pool.sign(p256, 'EdDSA', new Uint8Array(32)), code('invalid', 'mode'))
    await assert.rejects(pool.decrypt(p256, 'AES_CBC', new Uint8Array(16), new Uint8Array(16)), code('invalid', 'mode'))
    await assert.rejects(pool.sign(generic, 'ECDSA', new Uint8Array(32)), code('invalid', 'mode'))
    await assert.rejects(pool.decrypt(generic, 'PKCS1', new Uint8Array(32)), code('invalid', 'mode'))
    const block = new Uint8Array(16)
    await assert.rejects(pool.encrypt(generic, 'AES_CBC', block, block), code('invalid', '16, 24 or 32'))
    await assert.rejects(pool.importRaw('EC_P256', new Uint8Array(32)), code('invalid', 'data'))
    const cost = { N: 3, r: 1, p: 1 }
    await assert.rejects(pool.scrypt(block, block, cost), code('invalid', 'scrypt parameters'))
  }))

test('a damaged stored key fails by itself, quotes nothing and leaves the worker working', () =>
  withPool(async (pool) => {
    const good = stored(await pool.generate('EC_P256'))
    const bytes = new Uint8Array(32).fill(0xff)
    const bad = stored({ type: 'EC_P256', private: bytes, public: null })
    const decimal = BigInt(`0x${toHex(bytes)}`).toString()
    await assert.rejects(pool.sign(bad, 'ECDSA', new Uint8Array(32)), (error: unknown) => {
      assert.ok(code('internal')(error))
      const text = `${(error as Error).message} ${(error as Error).stack} ${String((error as Error).cause)}`
      return !text.includes(decimal) && !text.includes('ffffffff')
    })
    assert.ok(await pool.sign(good, 'ECDSA', new Uint8Array(32)))
  }))

test('a store that cannot give the key fails that operation only', () =>
  withPool(async (pool) => {
    const pair = await pool.generate('Curve25519')
    const gone: KeyHandle = {
      ref: ++lastRef,
      type: 'Curve25519',
      load: () => {
        throw new CofferError('storage', 'The record is damaged')
      },
    }
    await assert.rejects(pool.sign(gone, 'EdDSA', new Uint8Array(1)), code('storage', 'damaged'))
    const broken = { ...gone, load: () => assert.fail('0123456789abcdef') }
    await assert.rejects(pool.sign(broken, 'EdDSA', new Uint8Array(1)), code('internal', 'cannot be read'))
    assert.ok(await pool.sign(stored(pair), 'EdDSA', new Uint8Array(1)))
  }))

const sign = (pool: CryptoPool, key: KeyHandle) => pool.sign(key, 'EdDSA', new Uint8Array(32))

test('a worker asks for the bytes of a key once, and again after the key was forgotten', () =>
  withPool(async (pool) => {
    const [key, other] = [stored(await pool.generate('Curve25519')), stored(await pool.generate('Curve25519'))]
    for (let i = 0; i < 5; i++) await Promise.all([sign(pool, key), sign(pool, other)])
    assert.deepEqual([key.loads, other.loads], [1, 1])
    pool.forget(key.ref)
    await Promise.all([sign(pool, key), sign(pool, other)])
    assert.deepEqual([key.loads, other.loads], [2, 1])
    pool.forgetAll()
    for (let i = 0; i < 3; i++) await Promise.all([sign(pool, key), sign(pool, other)])
    assert.deepEqual([key.loads, other.loads], [3, 2])
  }))

test('forgetting a key nobody knows changes nothing', () =>
  withPool(async (pool) => {
    pool.forget(123456)
    pool.forgetAll()
    assert.ok(await sign(pool, stored(await pool.generate('Curve25519'))))
  }))

test('each of several workers opens a key for itself', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Curve25519'))
    await Promise.all(Array.from({ length: 60 }, () => sign(pool, key)))
    assert.equal(key.loads, 2)
    pool.forget(key.ref)
    await Promise.all(Array.from({ length: 60 }, () => sign(pool, key)))
    assert.equal(key.loads, 4)
  }, 2))

test('the least recently used key makes room for a new one', () =>
  withPool(async (pool) => {
    const pair = await pool.generate('Curve25519')
    const keys = Array.from({ length: 256 }, () => stored(pair))
    for (const key of keys) await sign(pool, key)
    await sign(pool, keys[0]!)
    await sign(pool, stored(pair))
    await sign(pool, keys[0]!)
    assert.equal(keys[0]!.loads, 1, 'used lately')
    await sign(pool, keys[1]!)
    assert.equal(keys[1]!.loads, 2, 'made room')
    await sign(pool, keys[255]!)
    assert.equal(keys[255]!.loads, 1)
  }))

test('the bytes of a key move into the worker and the caller keeps its message', () =>
  withPool(async (pool) => {
    const pair = await pool.generate('Curve25519')
    const key = stored(pair)
    const message = systemRandom(100)
    const [kept, expected] = [message.slice(), pool.sign(key, 'EdDSA', message)]
    assert.deepEqual(message, kept)
    message.fill(0) // as callers do; the operation has its own copy
    const publicKey = publicKeyPem('Curve25519', pair.public)
    assert.ok(verify(null, kept, publicKey, await expected))
    assert.equal(key.handedOut[0]!.length, 0, 'given back')
  }))

test('bytes that lie inside a larger buffer are copied out and wiped', () =>
  withPool(async (pool) => {
    const pair = await pool.generate('Curve25519')
    const larger = new Uint8Array(64).fill(9)
    larger.set(pair.private, 16)
    const inner = larger.subarray(16, 48)
    const signature = await sign(pool, { ref: ++lastRef, type: 'Curve25519', load: () => inner })
    assert.ok(verify(null, new Uint8Array(32), publicKeyPem('Curve25519', pair.public), signature))
    assert.deepEqual(larger, new Uint8Array(64).fill(9).fill(0, 16, 48))
  }))

test('a full queue answers busy and what was accepted is done', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Curve25519'))
    const settled = await Promise.allSettled(Array.from({ length: 2100 }, () => sign(pool, key)))
    const refused = settled.filter((result) => result.status === 'rejected')
    assert.equal(refused.length, 2100 - 2048)
    for (const { reason } of refused) assert.ok(code('busy')(reason))
    assert.ok(await sign(pool, key), 'there is room again')
  }))

test('waiting messages are bounded in bytes as well', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Generic', 256))
    const [message, iv] = [new Uint8Array(50 * 1024 * 1024), new Uint8Array(16)]
    const settled = await Promise.allSettled(
      Array.from({ length: 6 }, async () => (await pool.encrypt(key, 'AES_CBC', message, iv)).length),
    )
    assert.deepEqual(
      settled.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as CofferError).code)),
      [...Array(5).fill(message.length), 'busy'],
    )
  }))

test('a short operation does not wait behind a long one while a thread is free', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Curve25519'))
    for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 64 }, () => sign(pool, key))) // known to be short
    const long = pool.sign(key, 'EdDSA', new Uint8Array(64 * 1024 * 1024)).then(() => 'long')
    const short = sign(pool, key).then(() => 'short')
    assert.equal(await Promise.race([long, short]), 'short')
    await long
  }, 2))

test('signing does not wait for derivations, which wait for each other', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Curve25519'))
    const order: string[] = []
    const derivations = [1, 2].map(async (n) => {
      await pool.scrypt(new Uint8Array(10), new Uint8Array(16), { N: 16384, r: 8, p: 32 })
      order.push(`derived ${n}`)
    })
    for (let i = 0; i < 20; i++) await sign(pool, key)
    order.push('signed')
    await Promise.all(derivations)
    assert.deepEqual(order, ['signed', 'derived 1', 'derived 2'])
  }))

test('RSA keys are generated, used for every kind of operation, and imported', () =>
  withPool(async (pool) => {
    for (const bits of [1024, 1026]) {
      const pair = await pool.generate('RSA', bits)
      const [key, publicKey] = [stored(pair), publicKeyPem('RSA', pair.public)]
      const asymmetricKeyDetails = createPublicKey(publicKey).asymmetricKeyDetails
      assert.equal(asymmetricKeyDetails?.modulusLength, bits)
      const [text, digest] = [Buffer.from('text'), createHash('sha256').update('text').digest()]
      assert.ok(verify('sha256', text, publicKey, await pool.sign(key, 'PKCS1_SHA256', digest)))
      const pss = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
      assert.ok(verify('sha256', text, pss, await pool.sign(key, 'PSS_SHA256', digest)))
      const oaep = { key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
      assert.equal(Buffer.from(await pool.decrypt(key, 'OAEP_SHA1', publicEncrypt(oaep, text))).toString(), 'text')
      await assert.rejects(pool.sign(key, 'EdDSA', digest), code('invalid', 'mode'))
      await assert.rejects(pool.encrypt(key, 'AES_CBC', digest, digest), code('invalid', 'mode'))
      const { p, q, e } = decodeRsaPrivateKey(pair.private)
      assert.deepEqual(await pool.importRsa(p, q, e), pair)
      await assert.rejects(pool.importRsa(p, p, e), code('invalid', 'equal'))
    }
    await assert.rejects(pool.generate('RSA', 1000), code('invalid', 'length'))
    await assert.rejects(pool.generate('RSA'), code('invalid', 'length'))
  }))

test('a damaged stored RSA key is a storage error', () =>
  withPool(async (pool) => {
    const bad = stored({ type: 'RSA', private: new Uint8Array(100).fill(1), public: null })
    await assert.rejects(pool.sign(bad, 'PKCS1', new Uint8Array(1)), code('storage'))
  }))

test('a search for a large RSA key delays neither signing nor deriving, and is given up when everything is forgotten', () =>
  withPool(async (pool) => {
    const key = stored(await pool.generate('Curve25519'))
    const search = assert.rejects(pool.generate('RSA', 8192), code('unavailable'))
    let found = false
    search.then(() => {
      found = true
    })
    await pool.scrypt(new Uint8Array(10), new Uint8Array(16), { N: 1024, r: 8, p: 1 })
    for (let i = 0; i < 20; i++) await sign(pool, key)
    assert.equal(found, false)
    pool.forgetAll()
    await search
    assert.equal((await pool.generate('RSA', 1024)).type, 'RSA')
  }))

test('the thread that looks for RSA keys ends when it has been idle for a while, and another one starts', async (t) => {
  const threads = () => readdirSync('/proc/self/task').length
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await withPool(async (pool) => {
    await pool.scrypt(new Uint8Array(10), new Uint8Array(16), { N: 16, r: 8, p: 1 })
    const before = threads()
    for (let i = 0; i < 2; i++) {
      assert.equal((await pool.generate('RSA', 1024)).type, 'RSA')
      t.mock.timers.tick(5_000)
      assert.equal((await pool.generate('RSA', 1024)).type, 'RSA')
      t.mock.timers.tick(5_000)
      assert.ok(threads() > before)
      t.mock.timers.tick(5_000)
      while (threads() > before) await setImmediate()
    }
  })
})

test('forgetAll refuses what waits and what runs, and the pool goes on working', () =>
  withPool(async (pool) => {
    const pair = await pool.generate('EC_P521')
    const key = stored(pair)
    const digest = new Uint8Array(64)
    const running = [
      ...Array.from({ length: 100 }, () => pool.sign(key, 'ECDSA', digest)),
      pool.generate('EC_P521'),
      pool.scrypt(new Uint8Array(10), new Uint8Array(16), { N: 16384, r: 8, p: 32 }),
    ]
    await new Promise((resolve) => setTimeout(resolve, 20))
    const settled = Promise.allSettled(running)
    pool.forgetAll()
    const late = (await settled).filter((result) => result.status === 'rejected')
    assert.ok(late.length > 50, `${late.length} refused`)
    for (const { reason } of late) assert.ok(code('unavailable', 'Service not available')(reason))
    const before = key.loads
    const signature = await pool.sign(key, 'ECDSA', createHash('sha512').update('x').digest())
    assert.ok(verify('sha512', Buffer.from('x'), publicKeyPem('EC_P521', pair.public), signature))
    assert.equal(key.loads, before + 1)
  }))

test('an operation that waits for a key just forgotten is refused', () =>
  withPool(async (pool) => {
    const [gone, kept] = [stored(await pool.generate('EC_P384')), stored(await pool.generate('EC_P384'))]
    const digest = new Uint8Array(48)
    const both = Array.from({ length: 30 }, () => [pool.sign(gone, 'ECDSA', digest), pool.sign(kept, 'ECDSA', digest)])
    const settled = Promise.allSettled(both.flat())
    pool.forget(gone.ref)
    const results = await settled
    const refused = results.filter((result) => result.status === 'rejected')
    for (const { reason } of refused) assert.ok(code('notFound')(reason))
    assert.ok(refused.length >= 20 && refused.length <= 30, `${refused.length} refused`)
    assert.ok(results.every((result, i) => i % 2 === 0 || result.status === 'fulfilled'))
    assert.equal(gone.loads, 1, 'not opened again')
  }))

const DYING = new URL('dying-worker.ts', import.meta.url)
const deadly = new Uint8Array(13).fill(0xdd)

test('when a worker dies its operations fail, it is replaced and keys are asked for again', () =>
  withPool(
    async (pool) => {
      const key = stored(await pool.generate('Curve25519'))
      assert.ok(await sign(pool, key))
      const doomed = [pool.sign(key, 'EdDSA', deadly), ...Array.from({ length: 20 }, () => sign(pool, key))]
      const settled = await Promise.allSettled(doomed)
      const failed = settled.filter((result) => result.status === 'rejected')
      assert.equal(settled[0]!.status, 'rejected')
      assert.equal(failed.length, 16, 'those already given to the worker')
      for (const { reason } of failed) assert.ok(code('internal', 'stopped')(reason))
      assert.ok(await sign(pool, key))
      assert.equal(key.loads, 2)
    },
    1,
    DYING,
  ))

const FAULTY = new URL('faulty-worker.ts', import.meta.url)

test('a worker whose memory has changed is replaced, and its curve is used again', () =>
  withPool(
    async (pool) => {
      const pair = await pool.generate('EC_P256')
      const key = stored(pair)
      const digest = createHash('sha256').update('text').digest()
      assert.ok(await pool.sign(key, 'ECDSA', digest))
      const flipping = new Uint8Array(32).fill(0xdd)
      await assert.rejects(pool.sign(key, 'ECDSA', flipping), code('internal', 'The crypto operation failed'))
      const signature = await pool.sign(key, 'ECDSA', digest)
      assert.ok(verify('sha256', Buffer.from('text'), publicKeyPem('EC_P256', pair.public), signature))
      assert.equal(key.loads, 2, 'by another worker')
    },
    1,
    FAULTY,
  ))

test('while one of two workers is being replaced the other works on', { timeout: 60_000 }, (t) =>
  withPool(
    async (pool) => {
      const key = stored(await pool.generate('Curve25519'))
      t.mock.timers.enable({ apis: ['setTimeout'] }) // the pause before a replacement lasts
      await assert.rejects(pool.sign(key, 'EdDSA', deadly), code('internal'))
      for (let i = 0; i < 10; i++) assert.ok(await sign(pool, key))
    },
    2,
    DYING,
  ),
)

test('threads warm up one after the other, all of them', async () => {
  const entry = file(
    'warming.mjs',
    `import { parentPort } from 'node:worker_threads'
    const now = () => String(performance.timeOrigin + performance.now())
    parentPort.on('message', (message) => {
      if (message === 'close') parentPort.close()
      if (message !== 'warm up') return
      const began = now()
      setTimeout(() => parentPort.postMessage({ wrong: [began, now()] }), 50)
    })`,
  )
  const pool = createPool({ workers: 3, entry: pathToFileURL(entry) })
  const spans: number[] = []
  await new Promise<void>((resolve) => {
    pool.onTested((span) => {
      spans.push(...span.map(Number))
      if (spans.length === 6) resolve()
    })
  })
  assert.deepEqual(
    spans,
    spans.toSorted((a, b) => a - b),
  )
  await pool.close()
})

/** A worker that stops at each message of the kind `stops` until the first lock. It tells `onTested` of requests to overwrite garbage. */
const stoppingWorker = (name: string, stops: 'fields' | 'overwriteGarbage'): URL =>
  pathToFileURL(
    file(
      name,
      `import { createRequire } from 'node:module'
      import { parentPort, workerData } from 'node:worker_threads'
      const epoch = new Int32Array(workerData.epoch)
      parentPort.on('message', (message) => {
        if (typeof message !== 'object') return
        if ('overwriteGarbage' in message) parentPort.postMessage({ wrong: ['asked to overwrite'] })
        if ('${stops}' in message) while (Atomics.load(epoch, 0) === 0) Atomics.wait(epoch, 0, 0, 10)
      })
      createRequire('${ENTRY}')('${ENTRY.pathname}')`,
    ),
  )

test('garbage is overwritten without waiting for a search for an RSA key', { timeout: 60_000 }, (t) =>
  withPool(
    async (pool) => {
      t.mock.timers.enable({ apis: ['setTimeout'] }) // no time limit passes
      const search = assert.rejects(pool.generate('RSA', 1024), code('unavailable'))
      await setImmediate() // its thread has been sent the request
      await pool.overwriteGarbage()
      pool.forgetAll()
      await search
    },
    1,
    stoppingWorker('searching.mjs', 'fields'),
  ),
)

test('a busy thread is asked once to overwrite its garbage, and a time limit ends the wait', { timeout: 60_000 }, (t) =>
  withPool(
    async (pool) => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      let asked = 0
      pool.onTested((wrong) => {
        if (wrong.includes('asked to overwrite')) asked++
      })
      const generation = assert.rejects(pool.generate('Curve25519'), code('unavailable'))
      for (let n = 0; n < 12; n++) {
        let isDone = false
        pool.overwriteGarbage().then(() => {
          isDone = true
        })
        while (!isDone) {
          await setImmediate()
          t.mock.timers.tick(1000)
        }
      }
      await Promise.all([generation, pool.close()])
      assert.equal(asked, 1)
    },
    1,
    stoppingWorker('busy.mjs', 'fields'),
  ),
)

test('threads overwrite their garbage one after the other, and others sign meanwhile', { timeout: 60_000 }, (t) =>
  withPool(
    async (pool) => {
      const key = stored(await pool.generate('Curve25519'))
      await Promise.all(Array.from({ length: 60 }, () => sign(pool, key))) // both threads have started
      t.mock.timers.enable({ apis: ['setTimeout'] }) // no time limit passes
      const order: string[] = []
      const overwritten = pool.overwriteGarbage().then(() => order.push('overwritten'))
      for (let n = 0; n < 60; n++) await sign(pool, key)
      order.push('signed')
      pool.forgetAll()
      await overwritten
      assert.deepEqual(order, ['signed', 'overwritten'])
    },
    2,
    stoppingWorker('overwriting.mjs', 'overwriteGarbage'),
  ),
)

test('threads that start anew after a lock overwrite their garbage, too', { timeout: 60_000 }, () =>
  withPool(
    async (pool) => {
      const asked = new Promise<void>((resolve) => {
        pool.onTested((wrong) => {
          if (wrong.includes('asked to overwrite')) resolve()
        })
      })
      pool.forgetAll()
      await pool.overwriteGarbage()
      await asked
    },
    1,
    stoppingWorker('started-anew.mjs', 'overwriteGarbage'),
  ),
)

test('workers that cannot start fail every operation instead of hanging it, again and again', async () => {
  const pool = createPool({ workers: 2, entry: pathToFileURL(file('broken.mjs', 'throw new Error("no")')) })
  for (let round = 0; round < 2; round++) {
    await assert.rejects(pool.generate('Curve25519'), code('internal', 'stopped'))
    await assert.rejects(pool.scrypt(new Uint8Array(1), new Uint8Array(1), { N: 2, r: 1, p: 1 }), code('internal'))
  }
  await pool.close()
})

test('a closed pool refuses what waits and what comes', async () => {
  const pool = createPool({ workers: 1, entry: ENTRY })
  const key = stored(await pool.generate('Curve25519'))
  const settled = Promise.allSettled(Array.from({ length: 50 }, () => sign(pool, key)))
  await pool.close()
  const refused = (await settled).filter((result) => result.status === 'rejected')
  assert.ok(refused.length > 0)
  for (const { reason } of refused) assert.ok(code('unavailable')(reason))
  await assert.rejects(sign(pool, key), code('unavailable'))
  await assert.rejects(pool.generate('EC_P256'), code('unavailable'))
})

test('64 callers at once over every kind of operation get their own results', () =>
  withPool(async (pool) => {
    const pairs = await Promise.all(
      (['Curve25519', 'EC_P256', 'Generic'] as KeyType[]).map((t) => pool.generate(t, 256)),
    )
    const keys = pairs.map(stored)
    const publicKeys = pairs.map((pair) => pair.public && publicKeyPem(pair.type, pair.public))
    await Promise.all(
      Array.from({ length: 64 }, async (_, caller) => {
        for (let i = 0; i < 12; i++) {
          const message = systemRandom(16 * (1 + ((caller + i) % 5)))
          const which = (caller + i) % 3
          if (which === 0) {
            assert.ok(verify(null, message, publicKeys[0]!, await pool.sign(keys[0]!, 'EdDSA', message)))
          } else if (which === 1) {
            const digest = createHash('sha256').update(message).digest()
            assert.ok(verify('sha256', message, publicKeys[1]!, await pool.sign(keys[1]!, 'ECDSA', digest)))
          } else {
            const iv = systemRandom(16)
            const encrypted = await pool.encrypt(keys[2]!, 'AES_CBC', message, iv)
            assert.deepEqual(await pool.decrypt(keys[2]!, 'AES_CBC', encrypted, iv), message)
          }
        }
      }),
    )
  }, 2))

test('the pool works bundled under the permission model, silently, and lets the program end', async () => {
  const program = file('program.js', '')
  const worker = file('worker.js', '')
  file('package.json', '{ "type": "module" }')
  const here = (relative: string) => new URL(relative, import.meta.url).pathname
  const entryPoints = { program: here('pooled-program.ts'), worker: here('../../firmware/crypto/pool/worker.ts') }
  await build({ entryPoints, outdir: dirname(program), bundle: true, platform: 'node', format: 'esm' })
  const readable = [program, worker, join(dirname(program), 'package.json')].map((path) => `--allow-fs-read=${path}`)
  const args = ['--permission', '--allow-worker', ...readable, '--disable-warning=PERM0006', program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '64 32\n', stderr: '' })
})
