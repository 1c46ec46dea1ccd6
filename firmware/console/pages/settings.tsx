/** Settings of the device and of this console. Contract sections 3.4 and 3.9. */

import { type Signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { time, timestamp } from '../format.ts'
import { IDLE_MINUTES_MAX, limits, SESSION_HOURS_MAX, setLimits } from '../idle.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, type ViewProps } from '../parts/frame.tsx'
import { Form } from '../parts/loading.tsx'
import { flat, Resource, wholeNumber } from '../parts/resource.tsx'
import { aheadMs, applianceNow, refreshState } from '../state.ts'
import * as words from '../words.ts'
import { Mail, MailTest } from './mail.tsx'
import { Outgoing, OutgoingTest } from './outgoing.tsx'
import { Syslog } from './syslog.tsx'
import { clockWords } from './wizard.tsx'

export const SettingsPage = ({ api }: ViewProps) => (
  <>
    <Device api={api} />
    <PageSettings />
  </>
)

function Device({ api }: { api: Api }) {
  return (
    <div class="grid wide">
      <Clock api={api} />
      <Resource
        api={api}
        path="/config/unattended-boot"
        title={words.start}
        about={words.settingsBootText}
        fields={{ status: words.start }}
        choices={{
          status: [
            ['off', words.settingsAttended],
            ['on', words.settingsUnattended],
          ],
        }}
        write={(values) => values}
      />
      <ChangePassphrase api={api} path="/config/backup-passphrase" title={words.backupPassphrase} first />
      <ChangePassphrase api={api} path="/config/unlock-passphrase" title={words.unlockPassphrase} />
      <Network api={api} />
      <Resource
        api={api}
        path="/config/ntp"
        title={words.settingsTime}
        fields={{ ntpIP: words.settingsNtpIp, ntsName: words.settingsNtsName }}
        write={(values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))}
      />
      <Resource
        api={api}
        path="/config/logging"
        title={words.settingsLog}
        fields={{
          ipAddress: words.settingsLogAddress,
          port: words.settingsLogPort,
          logLevel: words.settingsLogLevel,
        }}
        choices={{ logLevel: ['debug', 'info', 'warning', 'error'].map((level) => [level, level]) }}
        write={(values) => ({ ...values, port: wholeNumber(values.port, words.settingsLogPort) })}
      />
      <Resource
        api={api}
        path="/config/interfaces"
        title={words.settingsInterfaces}
        about={words.settingsInterfacesText}
        fields={{ transit: words.settingsTransit, tokenHours: words.settingsTokenHours }}
        choices={{
          transit: [
            ['off', words.settingsOff],
            ['on', words.settingsOn],
          ],
        }}
        write={({ transit, tokenHours }) => ({
          transit,
          tokenHours: wholeNumber(tokenHours, words.settingsTokenHours),
        })}
      />
      <Syslog api={api} />
      <Outgoing api={api} />
      <OutgoingTest api={api} />
      <Mail api={api} />
      <MailTest api={api} />
      <Resource
        api={api}
        path="/config/audit"
        title={words.settingsAudit}
        about={words.settingsAuditText}
        fields={{
          changes: words.settingsChanges,
          refusals: words.settingsRefusals,
          uses: words.settingsUses,
          whenFull: words.settingsWhenFull,
        }}
        choices={{
          whenFull: [
            ['overwrite', words.settingsOverwrite],
            ['refuse', words.settingsRefuse],
          ],
        }}
        write={({ changes, refusals, uses, whenFull }) => ({
          changes: wholeNumber(changes, words.settingsChanges),
          refusals: wholeNumber(refusals, words.settingsRefusals),
          uses: wholeNumber(uses, words.settingsUses),
          whenFull,
        })}
      />
    </div>
  )
}

function Network({ api }: { api: Api }) {
  const port = location.port === '' ? '' : `:${location.port}`
  return (
    <Resource
      api={api}
      path="/config/network"
      title={words.settingsNetwork}
      about={words.settingsNetworkText}
      fields={{
        ipAddress: words.settingsAddress,
        netmask: words.settingsNetmask,
        gateway: words.settingsGateway,
        cidr: words.settingsIpv6,
        ipv6Gateway: words.settingsIpv6Gateway,
      }}
      read={({ ipv6, ...rest }) => {
        const { cidr, gateway } = (ipv6 ?? {}) as { cidr?: string; gateway?: string | null }
        return { ...flat(rest), cidr: cidr ?? '', ipv6Gateway: gateway ?? '' }
      }}
      write={({ cidr, ipv6Gateway, ...rest }) => ({
        ...rest,
        ...(cidr && { ipv6: { cidr, gateway: ipv6Gateway || null } }),
      })}
      saved={({ ipAddress }) => (
        <p>
          {words.settingsNetworkMoved} <a href={`https://${ipAddress}${port}/`}>{`https://${ipAddress}${port}/`}</a>
        </p>
      )}
    />
  )
}

function Clock({ api }: { api: Api }) {
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const json = () => ({ time: timestamp(new Date()) })
    done.value = await run.start(words.saving, () => api.call('PUT', '/config/time', { json: json() }))
    await refreshState()
  }
  const difference = aheadMs.value === 0 ? words.overviewClockSame : clockWords(aheadMs.value)
  return (
    <Card title={words.clock}>
      <Form
        run={run}
        submit={submit}
        kind=""
        action={words.settingsClockAction}
        said={done.value && words.settingsSaved}
      >
        <p>
          {words.settingsClockNow(time(applianceNow()))} ({difference}).
        </p>
      </Form>
    </Card>
  )
}

function ChangePassphrase({
  api,
  path,
  title,
  first = false,
}: {
  api: Api
  path: string
  title: string
  first?: boolean
}) {
  const current = useRef<HTMLInputElement>(null)
  const fresh = useRef<PassphraseHandle | null>(null)
  const done = useSignal(false)
  const run = useRun()
  const submit = async () => {
    const newPassphrase = fresh.current?.read()
    if (typeof newPassphrase !== 'string') return
    const json = { newPassphrase, currentPassphrase: current.current?.value ?? '' }
    done.value = await run.start(words.saving, () => api.call('PUT', path, { json }))
    if (!done.value) return
    fresh.current?.clear()
    if (current.current) current.current.value = ''
  }
  const id = `current-${path.slice(8)}`
  return (
    <Card title={title}>
      {first && <p class="hint">{words.settingsBackupText}</p>}
      <Form
        run={run}
        submit={submit}
        kind=""
        action={words.settingsSet(title)}
        said={done.value && words.settingsSaved}
      >
        <div class="field">
          <label for={id}>{words.settingsCurrent}</label>
          <input id={id} ref={current} type="password" autocomplete="off" aria-describedby={`${id}-about`} />
          <span class="hint" id={`${id}-about`}>
            {first && words.settingsCurrentHint}
          </span>
        </div>
        <Passphrase fresh label={words.newPassphrase} hold={fresh} />
      </Form>
    </Card>
  )
}

function PageSettings() {
  const minutes = useSignal(`${limits.value.minutes}`)
  const hours = useSignal(`${limits.value.hours}`)
  const done = useSignal(false)
  const run = useRun()
  const number = (label: string, value: Signal<string>, max: number) => (
    <Field label={label} type="number" min={1} max={max} required bind={value} />
  )
  return (
    <Card title={words.settingsPage}>
      <Form
        run={run}
        submit={() => {
          setLimits(Number(minutes.value), Number(hours.value))
          done.value = true
        }}
        kind=""
        action={words.settingsSave(words.settingsPage)}
        said={done.value && words.settingsSaved}
      >
        <div class="grid">
          {number(words.settingsIdle, minutes, IDLE_MINUTES_MAX)}
          {number(words.settingsHours, hours, SESSION_HOURS_MAX)}
        </div>
      </Form>
    </Card>
  )
}
