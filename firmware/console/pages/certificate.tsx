/** TLS keys and certificates of the ports: contract sections 3.4 and 3.8. */

import { useSignal } from '@preact/signals'
import { certificatesOf, readCertificates } from '../../client/certificate.ts'
import { Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { Copyable, FileDrop } from '../parts/controls.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, Problem, useLoad, Waiting } from '../parts/loading.tsx'
import * as words from '../words.ts'
import { Acme } from './acme.tsx'
import { CertificateList } from './certificate-facts.tsx'
import { SubjectForm } from './subject-form.tsx'

const TYPES: readonly (readonly [string, string])[] = [
  ['EC_P256', 'P-256'],
  ['EC_P384', 'P-384'],
  ['RSA', 'RSA 3072'],
]

export function CertificatePage({ api }: ViewProps) {
  const installed = useSignal(0)
  return (
    <>
      <TlsIdentity
        api={api}
        path="/config/tls"
        about={words.certificateKeyHint}
        afterwards={words.certificateAfterwards}
        installed={installed.value}
      />
      <Acme
        api={api}
        changed={() => {
          installed.value++
        }}
      />
    </>
  )
}

interface Port {
  api: Api
  /** Path prefix of this port's resources. */
  path: string
}

/** `afterwards` is shown after a change. Another value of `installed`: the certificate is read again. */
export function TlsIdentity({
  api,
  path,
  about,
  afterwards,
  installed,
}: Port & { about?: string; afterwards: string; installed?: number }) {
  const loaded = useLoad(async () => readCertificates(await api.text('GET', `${path}/cert.pem`)), [installed])
  const changed = useSignal(false)
  const done = () => {
    changed.value = true
    loaded.reload()
  }
  return (
    <>
      <div role="status">{changed.value && <div class="notice good">{afterwards}</div>}</div>
      <Card title={words.certificateInUse}>
        <Waiting of={loaded} />
        {loaded.value.value !== null && <CertificateList facts={loaded.value.value} />}
        {about && <p class="hint">{about}</p>}
      </Card>
      <Request api={api} path={path} />
      <Install api={api} path={path} done={done} />
      <Generate api={api} path={path} done={done} />
    </>
  )
}

function Request({ api, path }: Port) {
  const request = useSignal('')
  const run = useRun()
  return (
    <Card title={words.certificateRequest}>
      <p class="hint">{words.certificateRequestText}</p>
      <SubjectForm
        busy={run.busy.value}
        action={words.keyRequestAction}
        submit={(json) =>
          run.start(words.keyRequesting, async () => {
            request.value = await api.text('POST', `${path}/csr.pem`, { json })
          })
        }
      />
      <Problem error={run.error.value} />
      <div role="status">
        {request.value && <Copyable label={words.keyRequest} text={request.value} save="coffer.csr.pem" />}
      </div>
    </Card>
  )
}

function Install({ api, path, done }: Port & { done: () => void }) {
  const file = useSignal<File | null>(null)
  const run = useRun()
  const submit = async () => {
    const isDone = await run.start(words.certificateInstalling, async () => {
      if (file.value === null) throw new Error(words.chooseFile)
      await api.call('PUT', `${path}/cert.pem`, { body: await readPem(file.value), type: 'application/x-pem-file' })
    })
    if (isDone) done()
  }
  return (
    <Card title={words.certificateInstall}>
      <Form run={run} submit={submit} action={words.install} kind="">
        <FileDrop label={words.certificateInstallFile} bind={file} />
      </Form>
    </Card>
  )
}

/** Throws `Error` if the file holds no certificate, so that it is not sent. */
export async function readPem(file: File): Promise<string> {
  const text = await file.text()
  if (!text.includes('-----BEGIN') || certificatesOf(new TextEncoder().encode(text)).length === 0)
    throw new Error(words.certificateMissing)
  return text
}

function Generate({ api, path, done }: Port & { done: () => void }) {
  const type = useSignal('EC_P256')
  const generate = () => {
    const json = { type: type.value, ...(type.value === 'RSA' && { length: 3072 }) }
    return api.call('POST', `${path}/generate`, { json })
  }
  return (
    <Card title={words.newKey}>
      <p>{words.certificateGenerateText}</p>
      <Select label={words.type} bind={type} options={TYPES} />
      <Row>
        <Confirm
          title={words.certificateGenerateAction}
          what={words.certificateGenerateText}
          typed={words.certificateTyped}
          saying={words.making}
          work={generate}
          done={done}
        />
      </Row>
    </Card>
  )
}
