/** Creates, configures, recovers and removes the chat's organization. Contract section 3.8. */

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { pemBlocks } from '../../client/certificate.ts'
import type * as T from '../../client/types.ts'
import { Field, Select, TextArea } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import * as chatWords from '../chat-words.ts'
import { bytes, count, utf8Bytes } from '../format.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Fact, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, useLoad, Waiting } from '../parts/loading.tsx'
import { listOf, Resource, wholeNumber } from '../parts/resource.tsx'
import * as words from '../words.ts'
import { TlsIdentity } from './certificate.tsx'

const STARTING_MS = 2000 // until the state is read again
const PORTS = ['9443', '443'].map((port) => [port, port] as const)
const SECRET_BYTES_MIN = 32 // contract section 3.8

export function ChatPage({ api }: ViewProps) {
  const loaded = useLoad((signal) => api.get<T.Chat>('/chat', signal), [])
  const chat = loaded.value.value
  const { reload } = loaded
  useEffect(() => {
    if (chat?.state !== 'starting') return
    const timer = setTimeout(reload, STARTING_MS)
    return () => clearTimeout(timer)
  }, [chat, reload])
  if (chat === null) return <Waiting of={loaded} />
  if (chat.state === 'none') return <Make api={api} done={reload} />
  const isRunning = chat.state === 'running'
  return (
    <>
      <Facts chat={chat} />
      {isRunning && (
        <div class="grid wide">
          <Settings api={api} done={reload} />
          <div class="stack">
            <Port api={api} done={reload} />
            <Tokens api={api} />
            <Recover api={api} />
          </div>
        </div>
      )}
      <h2>{chatWords.certificate}</h2>
      <TlsIdentity api={api} path="/chat/tls" afterwards={chatWords.certificateAfterwards} />
      <Remove api={api} isRunning={isRunning} done={reload} />
    </>
  )
}

function Facts({ chat }: { chat: T.Chat }) {
  const { state, problem, port, users, messages, queues, exportKey, olderCopies = [] } = chat
  const address = chat.url || (port === undefined ? undefined : `https://${location.hostname}:${port}`)
  const number = (name: string, value: number | undefined, format = count) =>
    value === undefined ? null : <Fact name={name}>{format(value)}</Fact>
  return (
    <Card>
      <dl class="facts">
        <Fact name={chatWords.state}>{chatWords.states[state]}</Fact>
        {problem !== undefined && <Fact name={chatWords.problem}>{problem}</Fact>}
        {address !== undefined && (
          <Fact name={chatWords.address}>
            <a href={address}>{address}</a>
          </Fact>
        )}
        {number(chatWords.users, users)}
        {number(chatWords.messages, messages)}
        {number(chatWords.size, chat.bytes, bytes)}
        {number(chatWords.queues, queues)}
        {exportKey !== undefined && (
          <Fact mono name={chatWords.exportKey}>
            {exportKey}
          </Fact>
        )}
      </dl>
      {olderCopies.length > 0 && <div class="notice warn">{chatWords.olderCopies(olderCopies)}</div>}
    </Card>
  )
}

function Make({ api, done }: { api: Api; done: () => void }) {
  const name = useSignal('')
  const url = useSignal('')
  const email = useSignal('')
  const fullName = useSignal('')
  const password = useRef<PassphraseHandle | null>(null)
  const run = useRun()
  const submit = async () => {
    const text = password.current?.read()
    if (typeof text !== 'string') return
    const owner = { email: email.value, fullName: fullName.value, password: text }
    const json: T.ChatOrganization = { name: name.value, url: url.value, owner }
    if (!(await run.start(words.making, () => api.call('PUT', '/chat/organization', { json })))) return
    password.current?.clear()
    done()
  }
  return (
    <Card title={chatWords.make}>
      <p class="hint">{chatWords.makeText}</p>
      <Form run={run} submit={submit} action={chatWords.make}>
        <Field label={chatWords.name} required bind={name} />
        <Field label={chatWords.url} hint={chatWords.urlHint} bind={url} />
        <Field label={chatWords.fullName} required bind={fullName} />
        <Field label={chatWords.email} required bind={email} />
        <Passphrase fresh label={chatWords.password} hold={password} />
      </Form>
    </Card>
  )
}

const SWITCHES = {
  externalPreviews: [
    ['false', chatWords.previewsOff],
    ['true', chatWords.previewsOn],
  ],
  ownerFullContentAccess: [
    ['false', chatWords.accessOff],
    ['true', chatWords.accessOn],
  ],
  pushContent: [
    ['false', chatWords.pushContentOff],
    ['true', chatWords.pushContentOn],
  ],
} as const

function Settings({ api, done }: { api: Api; done: () => void }) {
  return (
    <Resource
      api={api}
      path="/chat/settings"
      title={chatWords.settings}
      fields={{
        url: chatWords.url,
        uploadQuotaMib: chatWords.quota,
        externalPreviews: chatWords.previews,
        ownerFullContentAccess: chatWords.access,
        outgoingHosts: chatWords.hosts,
        pushHosts: chatWords.pushHosts,
        pushContact: chatWords.pushContact,
        pushContent: chatWords.pushContent,
      }}
      hints={{
        url: chatWords.urlHint,
        uploadQuotaMib: chatWords.quotaHint,
        externalPreviews: chatWords.previewsHint,
        outgoingHosts: chatWords.hostsHint,
        pushHosts: chatWords.pushHostsHint,
        pushContact: chatWords.pushContactHint,
      }}
      choices={SWITCHES}
      read={(value) => {
        const { url, uploadQuotaMib, outgoingHosts, webPush, ...switches } = value as unknown as T.ChatSettings
        return {
          url,
          uploadQuotaMib: `${uploadQuotaMib ?? ''}`,
          outgoingHosts: outgoingHosts.join(' '),
          externalPreviews: `${switches.externalPreviews}`,
          ownerFullContentAccess: `${switches.ownerFullContentAccess}`,
          pushHosts: webPush?.hosts.join(' ') ?? '',
          pushContact: webPush?.contact ?? '',
          pushContent: `${webPush?.content ?? false}`,
        }
      }}
      write={({ url = '', uploadQuotaMib = '', outgoingHosts, ...switches }): T.ChatSettingsChange => ({
        url,
        uploadQuotaMib: uploadQuotaMib.trim() === '' ? null : wholeNumber(uploadQuotaMib, chatWords.quota),
        outgoingHosts: listOf(outgoingHosts),
        externalPreviews: switches.externalPreviews === 'true',
        ownerFullContentAccess: switches.ownerFullContentAccess === 'true',
        webPush: webPushIn(switches),
      })}
      done={done}
    />
  )
}

function webPushIn({ pushHosts, pushContact = '', pushContent }: Record<string, string>): T.ChatSettings['webPush'] {
  const hosts = listOf(pushHosts)
  return hosts.length === 0 ? null : { hosts, contact: pushContact.trim(), content: pushContent === 'true' }
}

/** Shown on a device alone: the port of a host is fixed. */
function Port({ api, done }: { api: Api; done: () => void }) {
  const port = useSignal('')
  const loaded = useLoad(async (signal) => {
    const { port: current } = await api.get<T.ChatSettings>('/chat/settings', signal)
    port.value = `${current ?? ''}`
    return { current }
  }, [])
  const run = useRun()
  const submit = async () => {
    const json: T.ChatSettingsChange = { port: Number(port.value) }
    if (await run.start(words.saving, () => api.call('PUT', '/chat/settings', { json }))) done()
  }
  if (loaded.value.value?.current === undefined) return null
  return (
    <Card title={chatWords.port}>
      <p class="hint">{chatWords.portText}</p>
      <Form run={run} submit={submit} kind="" action={words.settingsSave(chatWords.port)}>
        <Select label={chatWords.port} bind={port} options={PORTS} />
      </Form>
    </Card>
  )
}

const ALGORITHMS: readonly (readonly [string, string])[] = [
  ['', chatWords.tokenOff],
  ['HS256', 'HS256'],
  ['RS256', 'RS256'],
  ['ES256', 'ES256'],
]

/** The HS256 secret stays in its input field until it is sent, as passphrases do. */
function Tokens({ api }: { api: Api }) {
  const algorithm = useSignal('')
  const loaded = useLoad(async (signal) => {
    const { jwt } = await api.get<T.ChatSettings>('/chat/settings', signal)
    algorithm.value = jwt?.algorithm ?? ''
    return { jwt }
  }, [])
  const secret = useRef<HTMLInputElement>(null)
  const pem = useSignal('')
  const done = useSignal(false)
  const run = useRun()
  const found = loaded.value.value
  const submit = async () => {
    done.value = await run.start(words.saving, () => {
      const name = algorithm.value as T.JwtAlgorithm | ''
      const jwt =
        name === '' ? null : { algorithm: name, key: name === 'HS256' ? secretIn(secret.current) : keyIn(pem.value) }
      const json: T.ChatSettingsChange = { jwt }
      return api.call('PUT', '/chat/settings', { json })
    })
    if (!done.value) return
    if (secret.current) secret.current.value = ''
    pem.value = ''
    loaded.reload()
  }
  return (
    <Card title={chatWords.token}>
      <p class="hint">{chatWords.tokenText}</p>
      <Waiting of={loaded} />
      {found !== null && (
        <Form
          run={run}
          submit={submit}
          kind=""
          action={words.settingsSave(chatWords.token)}
          said={done.value && words.settingsSaved}
        >
          <p>{found.jwt === null ? chatWords.tokenIsOff : chatWords.tokenIs(found.jwt.algorithm)}</p>
          <Select label={chatWords.tokenAlgorithm} bind={algorithm} options={ALGORITHMS} />
          {algorithm.value === 'HS256' && (
            <div class="field">
              <label for="chat-secret">{chatWords.tokenSecret}</label>
              <input id="chat-secret" ref={secret} type="password" autocomplete="off" />
            </div>
          )}
          {(algorithm.value === 'RS256' || algorithm.value === 'ES256') && (
            <TextArea mono label={chatWords.tokenKey} bind={pem} />
          )}
        </Form>
      )}
    </Card>
  )
}

function secretIn(field: HTMLInputElement | null): string {
  const text = field?.value ?? ''
  if (utf8Bytes(text) < SECRET_BYTES_MIN) throw new Error(chatWords.tokenShort)
  return text
}

function keyIn(text: string): string {
  if (pemBlocks(text, 'PUBLIC KEY').length !== 1) throw new Error(chatWords.tokenNoKey)
  return text
}

function Recover({ api }: { api: Api }) {
  const email = useSignal('')
  const password = useRef<PassphraseHandle | null>(null)
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const text = password.current?.read()
    if (typeof text !== 'string') return
    const json = { email: email.value, password: text }
    done.value = await run.start(words.saving, () => api.call('POST', '/chat/recover-owner', { json }))
    if (done.value) password.current?.clear()
  }
  return (
    <Card title={chatWords.recover}>
      <p class="hint">{chatWords.recoverText}</p>
      <Form run={run} submit={submit} kind="" action={chatWords.recover} said={done.value && chatWords.recovered}>
        <Field label={chatWords.email} required bind={email} />
        <Passphrase fresh label={chatWords.password} hold={password} />
      </Form>
    </Card>
  )
}

/**
 * Only the running chat knows the organization's name and compares it with the typed text. If the chat does not run, a fixed text
 * confirms.
 */
function Remove({ api, isRunning, done }: { api: Api; isRunning: boolean; done: () => void }) {
  const name = useSignal('')
  const json = () => ({ name: isRunning ? name.value : chatWords.removeTyped })
  return (
    <Card title={chatWords.remove}>
      <p>{chatWords.removeText}</p>
      <Row>
        <Confirm
          title={chatWords.remove}
          what={chatWords.removeText}
          typed={isRunning ? undefined : chatWords.removeTyped}
          saying={chatWords.removing}
          work={() => api.call('DELETE', '/chat/organization', { json: json() })}
          done={done}
        >
          {isRunning && <Field label={chatWords.name} required bind={name} />}
        </Confirm>
      </Row>
    </Card>
  )
}
