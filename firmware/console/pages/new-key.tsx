/** Makes a key for a purpose or from explicit parameters, or imports one. */

import { useSignal } from '@preact/signals'
import { toBase64 } from '../../client/bytes.ts'
import { PURPOSES, type Purpose } from '../../client/purposes.ts'
import { segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Dialog, Field, Select, TextArea } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { utf8Bytes } from '../format.ts'
import { ID, LABEL_BYTES_MAX } from '../limits.ts'
import { FileDrop } from '../parts/controls.tsx'
import { Form } from '../parts/loading.tsx'
import { go } from '../routes.ts'
import * as words from '../words.ts'

const HASHES = ['MD5', 'SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512']
const EC_TYPES = ['EC_P256', 'EC_P384', 'EC_P521', 'EC_P256K1', 'BrainpoolP256', 'BrainpoolP384', 'BrainpoolP512']
const TYPES = ['RSA', 'Curve25519', ...EC_TYPES, 'ML_DSA_44', 'ML_DSA_65', 'ML_DSA_87', 'Generic']
const LENGTH_OF_RSA = '3072'
const LENGTHS: Readonly<Record<string, string>> = { RSA: LENGTH_OF_RSA, Generic: '256' }

/** Mechanisms of a key type: contract section 4.5. */
function mechanismsOf(type: string): string[] {
  if (type === 'RSA')
    return [
      ...HASHES.map((hash) => `RSA_Signature_PSS_${hash}`),
      ...HASHES.map((hash) => `RSA_Signature_PKCS1_${hash}`),
      'RSA_Signature_PKCS1',
      ...HASHES.map((hash) => `RSA_Decryption_OAEP_${hash}`),
      'RSA_Decryption_PKCS1',
      'RSA_Decryption_RAW',
    ]
  if (type === 'Curve25519') return ['EdDSA_Signature']
  if (type.startsWith('ML_DSA')) return ['ML_DSA_Signature', 'ML_DSA_Signature_EXTERNAL_MU']
  if (type === 'Generic') return ['AES_Encryption_CBC', 'AES_Decryption_CBC']
  return type === 'EC_P256K1' ? ['ECDSA_Signature', 'BIP340_Signature'] : ['ECDSA_Signature']
}

function useAttributes() {
  const id = useSignal('')
  const label = useSignal('')
  const tags = useSignal('')
  const fields = (
    <>
      <Field
        label={words.name}
        hint={words.newKeyIdHint}
        class="id"
        bind={id}
        maxLength={128}
        error={id.value !== '' && !ID.test(id.value) ? words.usersBadId : undefined}
      />
      <details>
        <summary>
          {words.label}, {words.tags.toLowerCase()} ({words.optional})
        </summary>
        <div class="stack">
          <Field
            label={words.label}
            hint={words.newKeyLabelHint}
            bind={label}
            error={utf8Bytes(label.value) > LABEL_BYTES_MAX ? words.newKeyLabelHint : undefined}
          />
          <Field label={words.tags} hint={words.newKeyTagsHint} class="id" bind={tags} />
        </div>
      </details>
    </>
  )
  const read = () => {
    const list = tags.value.split(/\s+/).filter(Boolean)
    return {
      ...(list.length > 0 && { restrictions: { tags: list } }),
      ...(label.value !== '' && { label: label.value }),
    }
  }
  return { id, fields, read }
}

export function NewKey({ api, close }: { api: Api; close: () => void }) {
  const purpose = useSignal('sign')
  const type = useSignal('RSA')
  const length = useSignal(LENGTH_OF_RSA)
  const mechanisms = useSignal<readonly string[]>([])
  const none = useSignal(false)
  const attributes = useAttributes()
  const run = useRun()
  const chosen: Purpose | undefined = PURPOSES[purpose.value as keyof typeof PURPOSES]
  const making = chosen ?? {
    type: type.value,
    length: Number(length.value),
    mechanisms: mechanisms.value,
  }
  const submit = async () => {
    none.value = making.mechanisms.length === 0
    if (none.value) return
    const isDone = await run.start(words.newKeyBusy(making.type === 'RSA'), async () => {
      const json = {
        type: making.type,
        mechanisms: making.mechanisms,
        ...(making.type in LENGTHS && { length: making.length }),
        ...(attributes.id.value !== '' && { id: attributes.id.value }),
        ...attributes.read(),
      }
      const { id } = await api.json<T.Created>('POST', '/keys/generate', { json })
      go('keys', id)
    })
    if (isDone) close()
  }
  return (
    <Dialog title={words.newKey} close={close}>
      <Form
        run={run}
        submit={submit}
        action={words.newKeyAction}
        beside={<Action onClick={close}>{words.cancel}</Action>}
      >
        <fieldset>
          <legend>{words.newKeyPurpose}</legend>
          <div class="choices">
            {[...Object.entries(PURPOSES).map(([name, { title }]) => [name, title]), ['hand', words.newKeyByHand]].map(
              ([name = '', title]) => (
                <label class="choice" key={name}>
                  <input
                    type="radio"
                    name="purpose"
                    checked={purpose.value === name}
                    onChange={() => {
                      purpose.value = name
                    }}
                  />
                  {title}
                </label>
              ),
            )}
          </div>
        </fieldset>
        {chosen ? (
          <p class="hint">
            {chosen.why}{' '}
            <span class="id">
              {chosen.type}
              {chosen.length !== undefined && ` ${chosen.length}`}: {chosen.mechanisms.join(', ')}
            </span>
          </p>
        ) : (
          <>
            <div class="grid">
              <Select
                label={words.type}
                bind={type}
                options={TYPES.map((name) => [name, name])}
                also={() => {
                  length.value = LENGTHS[type.value] ?? ''
                  const fitting = mechanismsOf(type.value)
                  mechanisms.value = fitting.length === 1 ? fitting : []
                }}
              />
              {type.value in LENGTHS && (
                <Field
                  label={words.newKeyLength}
                  type="number"
                  min={type.value === 'RSA' ? 1024 : 128}
                  max={8192}
                  required
                  bind={length}
                />
              )}
            </div>
            <Mechanisms
              names={mechanismsOf(type.value)}
              chosen={mechanisms.value}
              choose={(names) => {
                mechanisms.value = names
              }}
            />
          </>
        )}
        {attributes.fields}
        {none.value && (
          <span class="error" role="alert">
            {words.newKeyNoMechanism}
          </span>
        )}
      </Form>
    </Dialog>
  )
}

function Mechanisms(props: { names: readonly string[]; chosen: readonly string[]; choose: (names: string[]) => void }) {
  const { names, chosen, choose } = props
  return (
    <fieldset>
      <legend>{words.newKeyMechanisms}</legend>
      <div class="choices">
        {names.map((name) => (
          <label class="choice" key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                choose(names.filter((other) => (other === name ? checked : chosen.includes(other))))
              }
            />
            {words.keyMechanism(name)}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

const KEY_FILE_BYTES_MAX = 100_000 // the PEM file of an 8192-bit RSA key has about 7000

/** Reads a key file as PEM, the only format of the API. PKCS#8 in DER is converted. */
async function pemOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.slice(0, KEY_FILE_BYTES_MAX).arrayBuffer())
  const text = new TextDecoder().decode(bytes)
  if (text.includes('-----BEGIN')) return text
  const lines = toBase64(bytes).replace(/.{64}/g, '$&\n')
  return `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`
}

export function ImportKey({ api, close }: { api: Api; close: () => void }) {
  const file = useSignal<File | null>(null)
  const text = useSignal('')
  const type = useSignal('RSA')
  const mechanisms = useSignal<readonly string[]>([])
  const missing = useSignal('')
  const attributes = useAttributes()
  const run = useRun()
  const submit = async () => {
    const isEmpty = file.value === null && text.value.trim() === ''
    missing.value = isEmpty ? words.importKeyMissing : mechanisms.value.length === 0 ? words.newKeyNoMechanism : ''
    if (missing.value !== '') return
    const isDone = await run.start(words.importKeyBusy, async () => {
      const form = new FormData()
      form.append('arguments', JSON.stringify({ mechanisms: mechanisms.value, ...attributes.read() }))
      form.append('key_file', new Blob([file.value ? await pemOf(file.value) : text.value], { type: 'text/plain' }))
      const id = attributes.id.value
      if (id === '') {
        const made = await api.json<T.Created>('POST', '/keys', { body: form })
        go('keys', made.id)
      } else {
        await api.call('PUT', `/keys/${segment(id)}`, { body: form })
        go('keys', id)
      }
    })
    if (!isDone) return
    text.value = ''
    close()
  }
  const types: [string, string][] = [
    ['RSA', 'RSA'],
    ['Curve25519', 'Ed25519'],
    ['EC_P256', 'ECDSA'],
    ['EC_P256K1', 'secp256k1'],
  ]
  return (
    <Dialog title={words.importKey} close={close}>
      <Form
        run={run}
        submit={submit}
        action={words.importKeyAction}
        beside={<Action onClick={close}>{words.cancel}</Action>}
      >
        <FileDrop label={words.importKeyFile} hint={words.importKeyFileHint} bind={file} />
        <TextArea mono label={words.importKeyText} bind={text} />
        <Select
          label={words.type}
          hint={words.importKeyMechanisms}
          bind={type}
          options={types}
          also={() => {
            mechanisms.value = []
          }}
        />
        <Mechanisms
          names={mechanismsOf(type.value)}
          chosen={mechanisms.value}
          choose={(names) => {
            mechanisms.value = names
          }}
        />
        {attributes.fields}
        {missing.value && (
          <span class="error" role="alert">
            {missing.value}
          </span>
        )}
      </Form>
    </Dialog>
  )
}
