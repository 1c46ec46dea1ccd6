/** Versions of the appliance, and buttons to lock, restart, shut down and reset it. Contract section 3.5. */

import type * as T from '../../client/types.ts'
import type { Api } from '../api.ts'
import { Card, Fact, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, useLoad, Waiting } from '../parts/loading.tsx'
import { refreshState } from '../state.ts'
import * as words from '../words.ts'

export function SystemPage({ api }: ViewProps) {
  const loaded = useLoad(async () => {
    const [info, software] = await Promise.all([
      api.get<T.SystemInfo>('/system/info'),
      api.get<T.Software>('/system/software'),
    ])
    return { info, software }
  }, [])
  const found = loaded.value.value
  return (
    <>
      <Card>
        <Waiting of={loaded} />
        {found !== null && (
          <dl class="facts">
            <Fact name={words.version}>{found.software.version ?? found.info.softwareVersion}</Fact>
            <Fact mono name={words.systemBuild}>
              {found.software.build ?? found.info.softwareBuild}
            </Fact>
            <Fact mono name={words.systemDevice}>
              {found.info.deviceId}
            </Fact>
            <Fact name={words.systemHardware}>{found.info.hardwareVersion}</Fact>
            <Fact name={words.systemFirmware}>{found.info.firmwareVersion}</Fact>
            <Fact name={words.systemEngine}>{engineText(found.software.rsaEngine)}</Fact>
          </dl>
        )}
        {found !== null && Object.keys(found.info.pcr).length > 0 && (
          <details>
            <summary>{words.systemPcr}</summary>
            <dl class="facts">
              {Object.entries(found.info.pcr).map(([register, value]) => (
                <Fact mono key={register} name={register}>
                  {value}
                </Fact>
              ))}
            </dl>
          </details>
        )}
      </Card>
      <div class="grid">
        <Power api={api} path="/lock" title={words.systemLock} text={words.systemLockText} busy={words.systemLocking} />
        <Reboot api={api} />
        <Power
          api={api}
          path="/system/shutdown"
          title={words.systemShutdown}
          text={words.systemShutdownText}
          busy={words.systemShuttingDown}
          typed={words.systemShutdown.toLowerCase()}
        />
        <FactoryReset api={api} />
      </div>
    </>
  )
}

export const Reboot = ({ api }: { api: Api }) => (
  <Power api={api} path="/system/reboot" title={words.restart} text={words.systemRebootText} busy={words.restarting} />
)

export const FactoryReset = ({ api }: { api: Api }) => (
  <Power
    api={api}
    path="/system/factory-reset"
    title={words.factoryReset}
    text={words.systemResetText}
    busy={words.systemResetting}
    typed={words.systemResetTyped}
  />
)

const engineText = (engine: unknown): string =>
  typeof engine === 'object' && engine !== null ? Object.values(engine).join(', ') : String(engine ?? '')

function Power(props: { api: Api; path: string; title: string; text: string; busy: string; typed?: string }) {
  const { api, path, title, text, busy, typed } = props
  return (
    <Card title={title}>
      <p>{text}</p>
      <Row>
        <Confirm
          kind={typed === undefined ? '' : 'danger'}
          title={title}
          what={text}
          typed={typed}
          saying={busy}
          work={() => api.call('POST', path)}
          done={refreshState}
        />
      </Row>
    </Card>
  )
}
