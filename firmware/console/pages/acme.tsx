/** Orders of certificates by ACME: settings, state of each port, and an order at once. Contract sections 3.4 and 4.7. */

import { useEffect } from 'preact/hooks'
import type * as T from '../../client/types.ts'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import * as acmeWords from '../acme-words.ts'
import type { Api } from '../api.ts'
import { time } from '../format.ts'
import { Card, Fact } from '../parts/frame.tsx'
import { Problem, useLoad, Waiting } from '../parts/loading.tsx'
import { listOf, Resource } from '../parts/resource.tsx'

const PATH = '/config/acme'
const PORTS = ['appliance', 'chat'] as const
const LOOK_MS = 5000

type Port = (typeof PORTS)[number]

/** `changed` is called when a port has got another certificate. */
export function Acme({ api, changed }: { api: Api; changed: () => void }) {
  const loaded = useLoad((signal) => api.get<T.Acme>(PATH, signal), [])
  const { value: shown } = loaded.value
  const isOn = shown !== null && PORTS.some((port) => shown.ports[port].state !== 'off')
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(loaded.reload, LOOK_MS)
    return () => clearInterval(timer)
  }, [isOn])
  const ends = shown?.ports.appliance.notAfter
  useEffect(() => {
    if (ends !== undefined) changed()
  }, [ends])
  return (
    <>
      <Card title={acmeWords.orders}>
        <p class="hint">{acmeWords.ordersText}</p>
        <Waiting of={loaded} />
        {shown !== null &&
          PORTS.map((port) => (
            <PortFacts key={port} api={api} port={port} facts={shown.ports[port]} done={loaded.reload} />
          ))}
        {shown?.account != null && (
          <dl class="facts">
            <Fact name={acmeWords.account}>{shown.account}</Fact>
          </dl>
        )}
      </Card>
      <Settings api={api} done={loaded.reload} />
    </>
  )
}

function PortFacts({ api, port, facts, done }: { api: Api; port: Port; facts: T.AcmePort; done: () => void }) {
  const { state, notAfter, renewAt, failures, problem } = facts
  const run = useRun()
  const renew = async () => {
    if (await run.start(acmeWords.renewing, () => api.call('POST', `${PATH}/renew`, { json: { port } }))) done()
  }
  return (
    <section aria-label={acmeWords.ports[port]}>
      <h3>{acmeWords.ports[port]}</h3>
      <dl class="facts">
        <Fact name={acmeWords.state}>{acmeWords.states[state] ?? state}</Fact>
        {notAfter !== undefined && <Fact name={acmeWords.notAfter}>{time(notAfter)}</Fact>}
        {renewAt !== undefined && <Fact name={acmeWords.renewAt}>{time(renewAt)}</Fact>}
        {failures > 0 && <Fact name={acmeWords.failures}>{failures}</Fact>}
        {problem !== undefined && <Fact name={acmeWords.problem}>{problem}</Fact>}
      </dl>
      <Problem error={run.error.value} />
      {state !== 'off' && (
        <Action busy={run.busy.value} label={`${acmeWords.renew}: ${acmeWords.ports[port]}`} onClick={renew}>
          {acmeWords.renew}
        </Action>
      )}
    </section>
  )
}

function Settings({ api, done }: { api: Api; done: () => void }) {
  return (
    <Resource
      api={api}
      path={PATH}
      title={acmeWords.settings}
      fields={{
        directory: acmeWords.directory,
        termsAgreed: acmeWords.terms,
        contact: acmeWords.contact,
        challenge: acmeWords.challenge,
        profile: acmeWords.profile,
        appliance: acmeWords.names.appliance,
        chat: acmeWords.names.chat,
        kid: acmeWords.kid,
        key: acmeWords.key,
      }}
      hints={{
        directory: acmeWords.directoryHint,
        contact: acmeWords.contactHint,
        profile: acmeWords.profileHint,
        appliance: acmeWords.namesHint,
        chat: acmeWords.namesHint,
        kid: acmeWords.kidHint,
        key: acmeWords.keyHint,
      }}
      secrets={['key']}
      choices={{
        termsAgreed: [
          ['false', acmeWords.termsOpen],
          ['true', acmeWords.termsAgreed],
        ],
        challenge: acmeWords.challenges,
      }}
      read={(value) => {
        const { directory, termsAgreed, contact, challenge, profile, appliance, chat, eab } = value as unknown as T.Acme
        return {
          directory: directory ?? '',
          termsAgreed: `${termsAgreed}`,
          contact: contact.join(' '),
          challenge,
          profile: profile ?? '',
          appliance: appliance.join(' '),
          chat: chat.join(' '),
          kid: eab?.kid ?? '',
          key: '',
        }
      }}
      write={({ directory, contact, profile, appliance, chat, kid, key, ...others }): T.AcmeChange => ({
        directory: directory?.trim() || null,
        termsAgreed: others.termsAgreed === 'true',
        contact: listOf(contact),
        challenge: others.challenge ?? '',
        profile: profile?.trim() || null,
        appliance: listOf(appliance),
        chat: listOf(chat),
        eab: kid?.trim() ? { kid: kid.trim(), ...(key && { key }) } : null,
      })}
      done={done}
    />
  )
}
