/** Use of keys: sign, verify, decrypt, encrypt. Files are hashed here; only their digest is sent. */

import { fromBase64, toBase64 } from '../../../firmware/client/bytes.ts'
import { decryptModes, type SignMode, signModes } from '../../../firmware/client/signatures.ts'
import type { Key } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { readInput, writeWhole } from '../files.ts'

const MESSAGE_BYTES_MAX = 50_000_000 // in base64 what the API takes, 67 MiB

const BASE64 = {
  'key-id': { short: 'k', value: 'KEY', summary: 'the same as KEY' },
  data: { short: 'd', value: 'BASE64', summary: 'data to send as they are, instead of a file' },
} as const

export const USE: Command[] = [
  {
    words: 'sign',
    arguments: '[KEY] [FILE]',
    summary: 'Sign a file and write FILE.sig; the file is hashed on this computer.',
    roles: ['Operator'],
    options: {
      mode: {
        short: 'm',
        value: 'MODE',
        summary: 'PSS_SHA256, PKCS1_SHA256, ECDSA, EdDSA, ...; default: the key’s first',
      },
      output: { value: 'FILE', summary: 'output file, or "-" for stdout' },
      ...BASE64,
    },
    example: 'coffer sign web-key document.pdf',
    isFirst: true,
    run: sign,
  },
  {
    words: 'verify',
    arguments: 'KEY FILE [SIGNATURE]',
    summary: 'Verify a signature on this computer, by default FILE.sig.',
    roles: ['Operator', 'Administrator'],
    options: { mode: { short: 'm', value: 'MODE', summary: 'mode, as for sign' } },
    example: 'coffer verify web-key document.pdf',
    isFirst: true,
    run: verify,
  },
  {
    words: 'decrypt',
    arguments: '[KEY] [FILE]',
    summary: 'Decrypt a file.',
    roles: ['Operator'],
    options: {
      mode: {
        short: 'm',
        value: 'MODE',
        summary: 'OAEP_SHA256, PKCS1, RAW, AES_CBC, ...; default: the key’s first',
      },
      'initialization-vector': { value: 'BASE64', summary: 'for AES_CBC; default: the first 16 bytes of the file' },
      output: { value: 'FILE', summary: 'output file; default: stdout' },
      ...BASE64,
    },
    example: 'coffer decrypt box-key message.encrypted --output message',
    run: decrypt,
  },
  {
    words: 'encrypt',
    arguments: '[KEY] [FILE]',
    summary: 'Encrypt a file with a Generic key (AES-CBC, PKCS #7); the result begins with the initialization vector.',
    roles: ['Operator'],
    options: {
      mode: { short: 'm', value: 'MODE', choices: ['AES_CBC'], summary: 'mode of the encryption' },
      'initialization-vector': { value: 'BASE64', summary: 'default: random' },
      output: { value: 'FILE', summary: 'output file; default: stdout' },
      ...BASE64,
    },
    example: 'coffer encrypt aes-key message --output message.aes',
    run: encrypt,
  },
  {
    words: 'random',
    arguments: 'BYTES',
    summary: 'Print random bytes in base64.',
    roles: ['Operator'],
    example: 'coffer random 32',
    run: async ({ client, output }, { arguments: [text = ''] }) => {
      if (!/^\d{1,6}$/.test(text)) throw usage(`not a number of bytes: ${text}`)
      const random = await client().random(Number(text))
      output.result({ random }, () => random)
    },
  },
]

async function sign(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output } = context
  const { id, file, data } = subjectsOf('sign', input)
  const api = client()
  if (data !== undefined) {
    const mode = input.text('mode') ?? modeOf(await api.key(id), input).mode
    const signature = await api.sign(id, { mode, message: data })
    return output.result({ signature }, () => signature)
  }
  const key = await api.key(id)
  const mode = modeOf(key, input)
  const message = mode.hash === null ? wholeOf(file) : await digestOf(file, mode.hash)
  const signature = await permitted(key, 'sign', api.sign(id, { mode: mode.mode, message: toBase64(message) }))
  const target = input.text('output') ?? (file === '-' ? '-' : `${file}.sig`)
  await deliver(context, target, fromBase64(signature), { signature })
}

async function verify({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const [id = '', file = '', signatureFile = `${file}.sig`] = input.arguments
  if (file === '-' && input.arguments[2] === undefined) throw usage('SIGNATURE is missing')
  const api = client()
  const [key, pem] = await Promise.all([api.key(id), api.publicKey(id)])
  const { mode, hash } = modeOf(key, input)
  const signature = readInput(signatureFile)
  const crypto = await import('node:crypto')
  if (mode === 'BIP340') throw new Failure(EXIT.refused, 'signatures of BIP340 cannot be verified here')
  let isGood: boolean
  if (hash === null) isGood = crypto.verify(null, wholeOf(file), pem, signature)
  else {
    const verifier = crypto.createVerify(hash)
    for await (const piece of piecesOf(file)) verifier.update(piece)
    const padding = mode.startsWith('PSS') ? crypto.constants.RSA_PKCS1_PSS_PADDING : crypto.constants.RSA_PKCS1_PADDING
    const isRsa = mode.startsWith('P')
    isGood = verifier.verify(
      { key: pem, ...(isRsa && { padding, saltLength: crypto.constants.RSA_PSS_SALTLEN_AUTO }) },
      signature,
    )
  }
  if (!isGood) throw new Failure(EXIT.refused, `the signature is wrong (${mode})`)
  output.result(
    { valid: true, mode },
    () => `The signature is good (${mode}).`,
    () => 'good',
  )
}

async function decrypt(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output } = context
  const { id, file, data } = subjectsOf('decrypt', input)
  const api = client()
  const key = await api.key(id)
  const mode = input.text('mode') ?? decryptModes(key.mechanisms)[0]
  if (mode === undefined)
    throw new Failure(EXIT.refused, `the key may not decrypt; it permits: ${key.mechanisms.join(', ')}`)
  const given_iv = input.text('initialization-vector')
  if (data !== undefined) {
    const decrypted = await api.decrypt(id, { mode, encrypted: data, ...(given_iv && { iv: given_iv }) })
    return output.result({ decrypted }, () => decrypted)
  }
  const bytes = wholeOf(file)
  const isAes = mode === 'AES_CBC'
  const iv = isAes ? (given_iv ?? toBase64(bytes.subarray(0, IV_BYTES))) : undefined
  const encrypted = isAes && given_iv === undefined ? bytes.subarray(IV_BYTES) : bytes
  const decrypted = await permitted(
    key,
    'decrypt',
    api.decrypt(id, { mode, encrypted: toBase64(encrypted), ...(iv && { iv }) }),
  )
  const plain = fromBase64(decrypted)
  await deliver(context, input.text('output') ?? '-', isAes ? withoutPadding(plain) : plain, { decrypted })
}

async function encrypt(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output } = context
  const { id, file, data } = subjectsOf('encrypt', input)
  const iv = input.text('initialization-vector')
  const message = data ?? toBase64(withPadding(wholeOf(file)))
  const answer = await client().encrypt(id, { mode: 'AES_CBC', message, ...(iv && { iv }) })
  if (data !== undefined) return output.result(answer)
  const bytes = new Uint8Array([...fromBase64(answer.iv), ...fromBase64(answer.encrypted)])
  await deliver(context, input.text('output') ?? '-', bytes, answer)
}

const IV_BYTES = 16
const BLOCK_BYTES = 16

/** PKCS #7: RFC 5652 section 6.3. */
function withPadding(bytes: Uint8Array): Uint8Array {
  const padding = BLOCK_BYTES - (bytes.length % BLOCK_BYTES)
  const padded = new Uint8Array(bytes.length + padding).fill(padding)
  padded.set(bytes)
  return padded
}

function withoutPadding(bytes: Uint8Array): Uint8Array {
  const padding = bytes.at(-1) ?? 0
  const isWhole = padding >= 1 && padding <= BLOCK_BYTES && bytes.subarray(-padding).every((byte) => byte === padding)
  if (!isWhole)
    throw new Failure(EXIT.refused, 'what was decrypted has no padding', '--data sends and prints it as it is')
  return bytes.subarray(0, -padding)
}

/** KEY and FILE, or NetHSM's --key-id and --data. */
function subjectsOf(words: string, input: OptionValues): { id: string; file: string; data: string | undefined } {
  const named = input.text('key-id')
  const data = input.text('data')
  const positionals = named === undefined ? input.arguments : [named, ...input.arguments]
  const [id, file] = positionals
  if (id === undefined) throw usage(`KEY is missing`, `coffer ${words} KEY FILE`)
  if (file === undefined && data === undefined) throw usage(`FILE is missing`, 'for stdin: -')
  if (file !== undefined && data !== undefined) throw usage(`either FILE or --data`)
  return { id, file: file ?? '', data }
}

function modeOf(key: Key, input: OptionValues): SignMode {
  const bytes = key.public?.data === undefined ? undefined : fromBase64(key.public.data).length
  const modes = signModes({ ...key, ...(bytes !== undefined && { dataBytes: bytes }) })
  const wanted = input.text('mode')
  const hash = /^(?:PKCS1|PSS)_(SHA(?:224|256|384|512))$/.exec(wanted ?? '')?.[1] as SignMode['hash'] | undefined
  const known = wanted === undefined ? modes[0] : modes.find(({ mode }) => mode === wanted)
  if (known !== undefined) return known
  // A key with RSA_Signature_PKCS1 permits all of its hashes; the appliance decides.
  if (wanted !== undefined && hash) return { mode: wanted, hash }
  const permits = modes.map(({ mode }) => mode).join(', ')
  throw new Failure(
    EXIT.refused,
    wanted === undefined ? 'the key signs nothing that has a digest of today' : `the key does not sign ${wanted}`,
    permits ? `it permits: ${permits}` : `it permits: ${key.mechanisms.join(', ')}`,
  )
}

async function permitted<T>(key: Key, use: 'sign' | 'decrypt', answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const { status, message } = error as { status?: number; message: string }
    if (status !== 400) throw error
    const modes = use === 'sign' ? signModes(key).map(({ mode }) => mode) : decryptModes(key.mechanisms)
    throw new Failure(EXIT.refused, `${message} (400)`, `it permits: ${modes.join(', ')}`)
  }
}

async function digestOf(file: string, name: string): Promise<Uint8Array> {
  const { createHash } = await import('node:crypto')
  const hash = createHash(name)
  for await (const piece of piecesOf(file)) hash.update(piece)
  return hash.digest()
}

async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
  if (file === '-') {
    yield readInput(file)
    return
  }
  const { createReadStream } = await import('node:fs')
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) yield piece as Uint8Array
}

function wholeOf(file: string): Uint8Array {
  const bytes = readInput(file)
  if (bytes.length > MESSAGE_BYTES_MAX)
    throw new Failure(EXIT.refused, `${file} is sent whole, and larger than ${MESSAGE_BYTES_MAX / 1e6} MB`)
  return bytes
}

async function deliver(
  { output, signal, input }: CommandContext,
  target: string,
  bytes: Uint8Array,
  value: unknown,
): Promise<void> {
  if (input.flag('json')) return output.result(value)
  if (target === '-') return output.raw(bytes)
  await writeWhole(target, [bytes], signal)
  output.note(target)
}
