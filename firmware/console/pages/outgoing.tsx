/** Settings of outgoing connections, and a test of one. */

import { useSignal } from '@preact/signals'
import type * as T from '../../client/types.ts'
import { Field, member } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { Card } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import { listOf, Resource, wholeNumber } from '../parts/resource.tsx'
import * as words from '../words.ts'

export function Outgoing({ api }: { api: Api }) {
  return (
    <Resource
      api={api}
      path="/config/outgoing"
      title={words.outgoing}
      about={words.outgoingText}
      fields={{
        resolvers: words.outgoingResolvers,
        proxy: words.outgoingProxy,
        user: words.outgoingProxyUser,
        password: words.outgoingProxyPassword,
        proxyExcept: words.outgoingProxyExcept,
        publicAuthorities: words.outgoingPublic,
      }}
      hints={{
        resolvers: words.outgoingResolversHint,
        proxy: words.outgoingProxyHint,
        password: words.outgoingPasswordHint,
        proxyExcept: words.outgoingExceptHint,
      }}
      secrets={['password']}
      choices={{
        publicAuthorities: [
          ['true', words.outgoingPublicOn],
          ['false', words.outgoingPublicOff],
        ],
      }}
      read={(value) => {
        const { resolvers, proxy, proxyExcept, publicAuthorities } = value as unknown as T.Outgoing
        return {
          resolvers: resolvers.join(' '),
          proxy: proxy === null ? '' : proxyAddress(proxy),
          user: proxy?.user ?? '',
          password: '',
          proxyExcept: proxyExcept.join(' '),
          publicAuthorities: `${publicAuthorities}`,
        }
      }}
      write={({ resolvers, proxy = '', user = '', password = '', proxyExcept, publicAuthorities }) => ({
        resolvers: listOf(resolvers),
        proxy:
          proxy.trim() === ''
            ? null
            : { ...readProxy(proxy.trim()), ...(user && { user }), ...(password && { password }) },
        proxyExcept: listOf(proxyExcept),
        publicAuthorities: publicAuthorities === 'true',
      })}
    />
  )
}

export function OutgoingTest({ api }: { api: Api }) {
  const draft = useSignal<Record<string, string>>({ host: '', port: '443' })
  const found = useSignal<T.OutgoingFinding | null>(null)
  const run = useRun()
  const submit = async () => {
    found.value = null
    const { host = '', port } = draft.value
    const test = async () => {
      const json = { host: host.trim(), port: wholeNumber(port, words.outgoingPort), tls: true }
      found.value = await api.json<T.OutgoingFinding>('POST', '/config/outgoing/test', { json })
    }
    await run.start(words.outgoingTesting, test)
  }
  return (
    <Card title={words.outgoingTest}>
      <p class="hint">{words.outgoingTestText}</p>
      <Form run={run} submit={submit} kind="" action={words.outgoingTestAction}>
        <Field label={words.outgoingHost} bind={member(draft, 'host')} />
        <Field label={words.outgoingPort} bind={member(draft, 'port')} />
        {found.value !== null && <p role="status">{words.outgoingFound(found.value)}</p>}
      </Form>
    </Card>
  )
}

const proxyAddress = ({ host, port }: { host: string; port: number }): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

function readProxy(text: string): { host: string; port: number } {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? []
  if (!host) throw new Error(words.outgoingNoPlace)
  return { host, port: Number(port) }
}
