/** The appliance's own TLS key and certificate. Contract section 3.4. */

import { useSignal } from '@preact/signals'
import { readCertificates } from '../../client/certificate.ts'
import { Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { Copyable, FileDrop } from '../parts/controls.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, Problem, useLoad, Waiting } from '../parts/loading.tsx'
import * as words from '../words.ts'
import { CertificateList } from './certificate-facts.tsx'
import { SubjectForm } from './subject-form.tsx'

const TYPES: readonly (readonly [string, string])[] = [
  ['EC_P256', 'P-256'],
  ['EC_P384', 'P-384'],
  ['RSA', 'RSA 3072'],
]

export function CertificatePage({ api }: ViewProps) {
  const loaded = useLoad(async () => readCertificates(await api.text('GET', '/config/tls/cert.pem')), [])
  const changed = useSignal(false)
  const done = () => {
    changed.value = true
    loaded.reload()
  }
  return (
    <>
      <div role="status">{changed.value && <div class="notice good">{words.certificateAfterwards}</div>}</div>
      <Card>
        <Waiting of={loaded} />
        {loaded.value.value !== null && <CertificateList facts={loaded.value.value} />}
        <p class="hint">{words.certificateKeyHint}</p>
      </Card>
      <Request api={api} />
      <Install api={api} done={done} />
      <Generate api={api} done={done} />
    </>
  )
}

function Request({ api }: { api: Api }) {
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
            request.value = await api.text('POST', '/config/tls/csr.pem', { json })
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

function Install({ api, done }: { api: Api; done: () => void }) {
  const file = useSignal<File | null>(null)
  const run = useRun()
  const submit = async () => {
    const isDone = await run.start(words.certificateInstalling, async () => {
      if (file.value === null) throw new Error(words.chooseFile)
      await api.call('PUT', '/config/tls/cert.pem', { body: file.value, type: 'application/x-pem-file' })
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

function Generate({ api, done }: { api: Api; done: () => void }) {
  const type = useSignal('EC_P256')
  const generate = () => {
    const json = { type: type.value, ...(type.value === 'RSA' && { length: 3072 }) }
    return api.call('POST', '/config/tls/generate', { json })
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
