/** Uses a key as an operator: hashes and signs, verifies the signature at once, decrypts, and shows the same as commands. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { fromBase64, toBase64 } from '../../client/bytes.ts'
import { pemBlocks } from '../../client/certificate.ts'
import { curveOf } from '../../client/public-key.ts'
import { segment } from '../../client/request.ts'
import { decryptModes, type SignMode, signModes } from '../../client/signatures.ts'
import type * as T from '../../client/types.ts'
import { Action, Field, Select, TextArea } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { digestOf } from '../hashing.ts'
import { loadOnDemand } from '../load-on-demand.ts'
import { Copyable, FileDrop, saveFile } from '../parts/controls.tsx'
import { Card, Row } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import * as words from '../words.ts'
import { cofferSign, curlSign, opensslVerification } from './commands.ts'
import { publicParts } from './key-details.ts'

const WHOLE_BYTES_MAX = 48_000_000 // its base64 stays below the limit of `/sign`: contract section 1.5
const BLOCK_BYTES = 16

interface Use {
  api: Api
  user: string
  id: string
  details: T.Key
  pem: string | null
  used: () => void
}

export function UseKey(use: Use) {
  const data = publicParts(use.details).data
  const signing = signModes({ ...use.details, ...(data && { dataBytes: data.length }) })
  const decrypting = decryptModes(use.details.mechanisms)
  return (
    <>
      {signing[0] && <Sign {...use} first={signing[0]} modes={signing} />}
      {decrypting[0] && <Decrypt {...use} first={decrypting[0]} modes={decrypting} />}
    </>
  )
}

interface Signed {
  mode: SignMode
  signature: string
  verified: boolean | null
  name: string
}

function Sign(props: Use & { first: SignMode; modes: readonly SignMode[] }) {
  const { api, user, id, details, pem, used, first, modes } = props
  const mode = useSignal(first.mode)
  const kind = useSignal<'text' | 'file'>('text')
  const text = useSignal('')
  const file = useSignal<File | null>(null)
  const signed = useSignal<Signed | null>(null)
  const done = useSignal<number | null>(null)
  const stop = useRef<AbortController | null>(null)
  const run = useRun()
  const chosen = modes.find((other) => other.mode === mode.value) ?? first
  const openssl = pem === null ? null : opensslVerification(pem, chosen)

  const submit = () => {
    signed.value = null
    const controller = new AbortController()
    stop.current = controller
    return run.start(words.useSigning, async () => {
      const blob = kind.value === 'text' ? new Blob([text.value]) : file.value
      if (blob === null) throw new Error(words.chooseFile)
      if (chosen.hash === null && blob.size > WHOLE_BYTES_MAX) throw new Error(words.useTooLarge)
      const progress = (bytes: number) => {
        done.value = bytes
        run.say(words.useHashing(bytes, blob.size))
      }
      try {
        const message =
          chosen.hash === null
            ? new Uint8Array(await blob.arrayBuffer())
            : await digestOf(blob, chosen.hash, progress, controller.signal)
        run.say(words.useSigning)
        const json = { mode: chosen.mode, message: toBase64(message) }
        const options = { json, signal: controller.signal }
        const { signature } = await api.json<{ signature: string }>('POST', `/keys/${segment(id)}/sign`, options)
        const verified = await verify(details, pem, chosen, message, fromBase64(signature))
        signed.value = { mode: chosen, signature, verified, name: file.value?.name ?? 'document' }
        used()
      } finally {
        done.value = null
      }
    })
  }
  return (
    <Card title={words.useSign}>
      <Form
        run={run}
        submit={submit}
        action={words.useSign}
        beside={run.busy.value !== false && <Action onClick={() => stop.current?.abort()}>{words.cancel}</Action>}
      >
        {modes.length > 1 && (
          <Select
            label={words.useMode}
            bind={mode}
            options={modes.map((option) => [option.mode, option.mode.replace('_', ' ')])}
          />
        )}
        <fieldset>
          <legend>{words.useWhat}</legend>
          <Row>
            {(['text', 'file'] as const).map((name) => (
              <label class="choice" key={name}>
                <input
                  type="radio"
                  name="sign-what"
                  checked={kind.value === name}
                  onChange={() => {
                    kind.value = name
                  }}
                />
                {words.useKinds[name]}
              </label>
            ))}
          </Row>
        </fieldset>
        {kind.value === 'text' ? (
          <TextArea label={words.useKinds.text} bind={text} />
        ) : (
          <FileDrop
            label={words.useKinds.file}
            hint={chosen.hash === null ? words.useWholeHint : words.useFileHint}
            bind={file}
          />
        )}
        {done.value !== null && kind.value === 'file' && file.value && (
          <progress max={file.value.size} value={done.value} aria-label={words.useSign} />
        )}
      </Form>
      <div role="status" class="stack">
        {signed.value && <Result {...signed.value} />}
      </div>
      <details>
        <summary>{words.useSame}</summary>
        <div class="stack">
          <h3>curl</h3>
          <Copyable label="curl" text={curlSign(location.origin, user, id, chosen)} />
          <h3>coffer</h3>
          <Copyable label="coffer" text={cofferSign(location.origin, user, id, chosen)} />
          {openssl !== null && (
            <>
              <h3>OpenSSL</h3>
              <Copyable label="OpenSSL" text={openssl} />
            </>
          )}
        </div>
      </details>
    </Card>
  )
}

function Result({ signature, verified, name }: Signed) {
  return (
    <>
      <div class={verified === false ? 'notice bad' : verified ? 'notice good' : 'notice'}>
        <strong>
          {verified === null ? words.useCannotVerify : verified ? words.useVerified : words.useNotVerified}
        </strong>
      </div>
      <Copyable label={words.useSignature} text={signature} />
      <Row>
        <Action kind="small" onClick={() => saveFile(new Blob([fromBase64(signature)]), `${name}.sig`)}>
          {words.save} {name}.sig
        </Action>
      </Row>
    </>
  )
}

/** Returns null if neither the browser nor OpenSSL can verify the mode. `message` is the digest for modes that take one. */
async function verify(
  details: T.Key,
  pem: string | null,
  { mode, hash }: SignMode,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean | null> {
  const parts = publicParts(details)
  const { modulus, publicExponent, data } = parts
  const { verifyEcdsa, verifyPkcs1, verifyPss } = await loadOnDemand()
  if (mode === 'ECDSA' && data) return verifyEcdsa(curveOf(parts), data, message, signature)
  if (hash !== null && modulus && publicExponent) {
    const check = mode.startsWith('PSS') ? verifyPss : verifyPkcs1
    return check({ modulus, publicExponent }, hash, message, signature)
  }
  if (mode !== 'EdDSA' || pem === null) return null
  const [spki] = pemBlocks(pem, 'PUBLIC KEY')
  if (spki === undefined) return null
  const key = await crypto.subtle.importKey('spki', new Uint8Array(spki), 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, new Uint8Array(signature), new Uint8Array(message))
}

function Decrypt({ api, id, used, first, modes }: Use & { first: string; modes: readonly string[] }) {
  const mode = useSignal(first)
  const encrypted = useSignal('')
  const iv = useSignal('')
  const plain = useSignal<Uint8Array<ArrayBuffer> | null>(null)
  const run = useRun()
  const submit = () => {
    plain.value = null
    return run.start(words.useDecrypting, async () => {
      const json = {
        mode: mode.value,
        encrypted: normal(encrypted.value),
        ...(mode.value === 'AES_CBC' && { iv: normal(iv.value) }),
      }
      const { decrypted } = await api.json<{ decrypted: string }>('POST', `/keys/${segment(id)}/decrypt`, { json })
      const bytes = fromBase64(decrypted)
      plain.value = mode.value === 'AES_CBC' ? unpadded(bytes) : bytes
      used()
    })
  }
  return (
    <Card title={words.useDecrypt}>
      <Form run={run} submit={submit} action={words.useDecrypt}>
        {modes.length > 1 && (
          <Select label={words.useMode} bind={mode} options={modes.map((name) => [name, name.replace('_', ' ')])} />
        )}
        <TextArea mono label={words.useEncrypted} bind={encrypted} />
        {mode.value === 'AES_CBC' && <Field label={words.useIv} class="id" required bind={iv} />}
      </Form>
      <div role="status">{plain.value && <Plain bytes={plain.value} />}</div>
    </Card>
  )
}

/** Shows decrypted bytes as text if they are UTF-8, else in base64. */
function Plain({ bytes }: { bytes: Uint8Array<ArrayBuffer> }) {
  try {
    return <Copyable label={words.usePlain} text={new TextDecoder('utf-8', { fatal: true }).decode(bytes)} />
  } catch {
    return <Copyable label={words.usePlainBase64} text={toBase64(bytes)} />
  }
}

/** Removes PKCS#7 padding. Returns the bytes unchanged if they have none. */
function unpadded(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const padding = bytes.at(-1) ?? 0
  const isPadded = padding >= 1 && padding <= BLOCK_BYTES && bytes.subarray(-padding).every((byte) => byte === padding)
  return isPadded ? bytes.slice(0, -padding) : bytes
}

/** Removes line breaks from base64. Throws `Error` if the text is not base64. */
function normal(text: string): string {
  try {
    return toBase64(fromBase64(text))
  } catch {
    throw new Error(words.useNotBase64)
  }
}
