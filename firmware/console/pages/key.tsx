/** One key: attributes, public key and certificate. Administrators can change it, operators can use it. */

import { useSignal } from '@preact/signals'
import { type CertificateFacts, certificatesOf, keyFingerprint } from '../../client/certificate.ts'
import { jwkOf, sshLineOf } from '../../client/public-key.ts'
import { ApiError, segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Field, Select } from '../../web/controls.tsx'
import { type Run, useRun } from '../../web/run.ts'
import type { Api, Tagged } from '../api.ts'
import { count, utf8Bytes } from '../format.ts'
import { ID, LABEL_BYTES_MAX } from '../limits.ts'
import { Copyable, FileDrop } from '../parts/controls.tsx'
import { Card, Fact, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, Problem, useLoad, Waiting } from '../parts/loading.tsx'
import { onDemand } from '../parts/on-demand.tsx'
import { go } from '../routes.ts'
import { accounts, apiOf } from '../state.ts'
import * as words from '../words.ts'
import { CertificateList } from './certificate-facts.tsx'
import { canHaveVersions, publicParts, shortType } from './key-details.ts'
import { NeedsAccount } from './sign-in.tsx'
import { SubjectForm } from './subject-form.tsx'
import { UseKey } from './use-key.tsx'

const Versions = onDemand((parts) => parts.Versions)

interface Loaded {
  key: Tagged<T.Key>
  pem: string | null
  certificate: { facts: CertificateFacts[]; etag: string | null } | null
  /** Null for keys that have one version always. */
  versions: Tagged<T.KeyVersions> | null
}

async function load(api: Api, id: string): Promise<Loaded> {
  const path = `/keys/${segment(id)}`
  const key = await api.tagged<T.Key>(path)
  const pem = key.value.public ? await api.text('GET', `${path}/public.pem`) : null
  const versions = canHaveVersions(key.value) ? await api.tagged<T.KeyVersions>(`${path}/versions`) : null
  return { key, pem, certificate: await certificateOf(api, path), versions }
}

async function certificateOf(api: Api, path: string): Promise<Loaded['certificate']> {
  try {
    const answer = await api.call('GET', `${path}/cert`)
    const stored = new Uint8Array(await answer.arrayBuffer())
    return { facts: certificatesOf(stored), etag: answer.headers.get('etag') }
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

export function KeyPage({ account, api, id }: ViewProps & { id: string }) {
  const loaded = useLoad(() => load(api, id), [id])
  const found = loaded.value.value
  if (found === null) return <Waiting of={loaded} />
  const inSamePlace = (role: string) =>
    accounts.value.findLast((other) => other.role === role && other.namespace === account.namespace)
  const administrator = inSamePlace('Administrator')
  const operator = inSamePlace('Operator')
  return (
    <>
      <Waiting of={loaded} />
      <Facts details={found.key.value} pem={found.pem} />
      {operator ? (
        <UseKey
          api={apiOf(operator)}
          user={operator.user}
          id={id}
          details={found.key.value}
          pem={found.pem}
          used={loaded.reload}
        />
      ) : (
        <NeedsAccount need={{ roles: ['Operator'] }} />
      )}
      {found.pem !== null && <PublicKey id={id} details={found.key.value} pem={found.pem} />}
      {found.pem !== null && (
        <Certificate
          api={api}
          admin={administrator && apiOf(administrator)}
          id={id}
          loaded={found}
          reload={loaded.reload}
        />
      )}
      {found.versions !== null && (
        <Versions
          key={id}
          admin={administrator && apiOf(administrator)}
          id={id}
          versions={found.versions}
          reload={loaded.reload}
        />
      )}
      {administrator && <Manage api={apiOf(administrator)} id={id} shown={found.key} reload={loaded.reload} />}
    </>
  )
}

function Facts({ details, pem }: { details: T.Key; pem: string | null }) {
  const { mechanisms, label, operations, restrictions } = details
  return (
    <Card>
      <dl class="facts">
        <Fact name={words.type}>{shortType(details)}</Fact>
        <Fact name={words.keyMechanisms}>
          <ul class="tags">
            {mechanisms.map((name) => (
              <li class="tag" key={name} title={name}>
                {words.keyMechanism(name)}
              </li>
            ))}
          </ul>
        </Fact>
        <Fact name={words.label}>{label ?? words.none}</Fact>
        <Fact name={words.tags}>
          {restrictions.tags ? `${words.keyTags} ${restrictions.tags.join(', ')}` : words.keyEveryone}
        </Fact>
        <Fact name={words.uses}>{count(operations)}</Fact>
        {pem !== null && (
          <Fact mono name={words.keyFingerprint}>
            {keyFingerprint(pem)}
          </Fact>
        )}
      </dl>
    </Card>
  )
}

function PublicKey({ id, details, pem }: { id: string; details: T.Key; pem: string }) {
  const form = useSignal('pem')
  const parts = publicParts(details)
  const jwk = jwkOf(parts)
  const ssh = sshLineOf(parts, id)
  const texts: Record<string, string | null> = { pem, jwk: jwk && JSON.stringify({ ...jwk, kid: id }, null, 2), ssh }
  const endings: Record<string, string> = { pem: '.pem', jwk: '.jwk', ssh: '.pub' }
  const options = Object.entries(words.keyFormats).filter(([name]) => texts[name] !== null)
  return (
    <Card title={words.keyPublic}>
      <Select label={words.type} bind={form} options={options} />
      <Copyable label={words.keyPublic} text={texts[form.value] ?? pem} save={id + endings[form.value]} />
    </Card>
  )
}

function Certificate(props: { api: Api; admin: Api | undefined; id: string; loaded: Loaded; reload: () => void }) {
  const { api, admin, id, loaded, reload } = props
  const path = `/keys/${segment(id)}`
  const file = useSignal<File | null>(null)
  const run = useRun()
  const request = useSignal('')
  const requesting = useRun()
  const store = async () => {
    const chosen = file.value
    if (chosen === null || !admin) return
    const isDone = await run.start(words.keyStoring, async () => {
      const bytes = new Uint8Array(await chosen.arrayBuffer())
      const isPem = new TextDecoder().decode(bytes.subarray(0, 2000)).includes('-----BEGIN')
      const type = isPem ? 'application/x-pem-file' : 'application/octet-stream'
      if (certificatesOf(bytes).length === 0) throw new Error(words.keyNotCertificate)
      await admin.call('PUT', `${path}/cert`, { body: bytes, type })
    })
    if (isDone) reload()
  }
  return (
    <Card title={words.keyCertificate}>
      {loaded.certificate === null ? (
        <p>{words.keyNoCertificate}</p>
      ) : (
        <CertificateList facts={loaded.certificate.facts} />
      )}
      {admin && loaded.certificate === null && (
        <Form run={run} submit={store} kind="" action={words.keyStoreCertificate}>
          <FileDrop label={words.keyStoreCertificateFile} bind={file} />
        </Form>
      )}
      {admin && loaded.certificate !== null && (
        <Row>
          <Confirm
            title={words.keyRemoveCertificate}
            what={words.keyRemoveCertificateText}
            saying={words.keyStoring}
            work={() => admin.call('DELETE', `${path}/cert`, { etag: loaded.certificate?.etag ?? null })}
            done={reload}
          />
        </Row>
      )}
      <details>
        <summary>{words.keyRequest}</summary>
        <SubjectForm
          busy={requesting.busy.value}
          action={words.keyRequestAction}
          submit={(json) =>
            requesting.start(words.keyRequesting, async () => {
              request.value = await api.text('POST', `${path}/csr.pem`, { json })
            })
          }
        />
        <Problem error={requesting.error.value} />
        <div role="status">
          {request.value && <Copyable label={words.keyRequest} text={request.value} save={`${id}.csr.pem`} />}
        </div>
      </details>
    </Card>
  )
}

function Manage({ api, id, shown, reload }: { api: Api; id: string; shown: Tagged<T.Key>; reload: () => void }) {
  const path = `/keys/${segment(id)}`
  const label = useSignal(shown.value.label ?? '')
  const newId = useSignal(id)
  const labelling = useRun()
  const tagging = useRun()
  const renaming = useRun()
  const saveLabel = async () => {
    const change = () =>
      label.value === ''
        ? api.call('DELETE', `${path}/label`)
        : api.call('PUT', `${path}/label`, { json: { label: label.value } })
    if (await labelling.start(words.saving, change)) reload()
  }
  const tag = async (method: 'PUT' | 'DELETE', name: string) => {
    if (await tagging.start(words.saving, () => api.call(method, `${path}/restrictions/tags/${segment(name)}`)))
      reload()
  }
  const rename = async () => {
    const json = { newId: newId.value }
    if (await renaming.start(words.keyRenaming, () => api.call('POST', `${path}/move`, { json })))
      go('keys', newId.value)
  }
  /** Shows another administrator's change before the user confirms the deletion again. */
  const remove = async () => {
    try {
      await api.call('DELETE', path, { etag: shown.etag })
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) reload()
      throw error
    }
  }
  const isLong = utf8Bytes(label.value) > LABEL_BYTES_MAX
  return (
    <Card title={words.keyManage}>
      <Form run={labelling} submit={saveLabel} kind="" action={words.keySaveLabel}>
        <Field label={words.label} bind={label} error={isLong ? words.newKeyLabelHint : undefined} />
      </Form>
      <TagEditor
        tags={shown.value.restrictions.tags ?? []}
        run={tagging}
        add={(name) => tag('PUT', name)}
        remove={(name) => tag('DELETE', name)}
      />
      <Form run={renaming} submit={rename} kind="" action={words.keyRename}>
        <Field
          label={words.keyNewId}
          class="id"
          bind={newId}
          error={ID.test(newId.value) ? undefined : words.usersBadId}
        />
      </Form>
      <Row>
        <Confirm
          title={words.keyDelete}
          what={words.keyDeleteText}
          typed={id}
          saying={words.deleting}
          work={remove}
          done={() => go('keys')}
        />
      </Row>
    </Card>
  )
}

export function TagEditor(props: {
  tags: readonly string[]
  run: Run
  add: (tag: string) => unknown
  remove: (tag: string) => unknown
}) {
  const { tags, run, add, remove } = props
  const tag = useSignal('')
  const isBad = tag.value !== '' && !ID.test(tag.value)
  return (
    <div class="stack">
      {tags.length > 0 && (
        <ul class="tags">
          {tags.map((name) => (
            <li class="tag" key={name}>
              <span class="id">{name}</span>
              <Action kind="small link" label={words.keyRemoveTag(name)} onClick={() => remove(name)}>
                {words.remove}
              </Action>
            </li>
          ))}
        </ul>
      )}
      <Form
        run={run}
        kind=""
        action={words.add}
        submit={() => {
          if (ID.test(tag.value)) add(tag.value)
        }}
      >
        <Field label={words.keyAddTag} class="id" bind={tag} error={isBad ? words.usersBadId : undefined} />
      </Form>
    </div>
  )
}
