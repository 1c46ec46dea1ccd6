/** Lists the members of the cluster, and lets this appliance join one. Contract section 3.6. */

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { readCertificates } from '../../client/certificate.ts'
import { ApiError, segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import * as clusterWords from '../cluster-words.ts'
import { FileDrop, Passphrase, type PassphraseHandle, saveFile } from '../parts/controls.tsx'
import { Card, Columns, Row, type ViewProps } from '../parts/frame.tsx'
import { Confirm, Form, useLoad, Waiting } from '../parts/loading.tsx'
import { refreshState } from '../state.ts'
import * as words from '../words.ts'
import { readPem } from './certificate.tsx'
import { CertificateList } from './certificate-facts.tsx'
import { ForceNew } from './force-new.tsx'

const JOINING_MS = 5000 // interval for reading the members while one of them joins

export function ClusterPage({ api }: ViewProps) {
  const loaded = useLoad((signal) => api.get<T.Member[]>('/cluster/members', signal), [])
  const members = loaded.value.value
  const { reload } = loaded
  useEffect(() => {
    if (!members?.some(({ learner }) => learner)) return
    const timer = setTimeout(reload, JOINING_MS)
    return () => clearTimeout(timer)
  }, [members, reload])
  const isAlone = members?.length === 1
  return (
    <>
      <Card title={clusterWords.members}>
        <Waiting of={loaded} />
        {isAlone && <p>{clusterWords.alone}</p>}
        {members !== null && <Members api={api} members={members} reload={reload} />}
      </Card>
      {members !== null && <Add api={api} isAlone={isAlone} reload={reload} />}
      {isAlone && <Join api={api} />}
      <Authority api={api} />
      {!isAlone && (members !== null || loaded.error.value !== null) && <ForceNew />}
    </>
  )
}

function Members({ api, members, reload }: { api: Api; members: readonly T.Member[]; reload: () => void }) {
  return (
    <table>
      <caption class="hidden">{clusterWords.members}</caption>
      <Columns names={[clusterWords.name, clusterWords.addresses, clusterWords.role, clusterWords.acts]} />
      <tbody>
        {members.map((member) => (
          <tr key={member.id}>
            <th scope="row" class="id">
              {member.name || member.id}
            </th>
            <td data-name={clusterWords.addresses} class="id">
              {member.urls.join(' ')}
            </td>
            <td data-name={clusterWords.role}>{roleOf(member)}</td>
            <td>
              <Acts api={api} member={member} isOnly={members.length === 1} reload={reload} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function roleOf({ name, learner }: T.Member): string {
  if (!learner) return clusterWords.member
  return name === '' ? clusterWords.unjoined : clusterWords.learner
}

function Acts(props: { api: Api; member: T.Member; isOnly: boolean; reload: () => void }) {
  const { api, member, isOnly, reload } = props
  const path = `/cluster/members/${segment(member.id)}`
  const name = member.name || member.id
  const urls = useSignal(member.urls.join(' '))
  if (isOnly) return null
  return (
    <Row>
      {member.learner && member.name !== '' && (
        <Confirm
          kind="small"
          title={clusterWords.promote}
          label={clusterWords.promoteOf(name)}
          what={clusterWords.promoteText}
          saying={clusterWords.promoting}
          work={() => api.call('POST', `${path}/promote`)}
          done={reload}
        />
      )}
      <Confirm
        kind="small"
        title={clusterWords.change}
        label={clusterWords.changeOf(name)}
        what={clusterWords.changeText}
        saying={words.saving}
        work={() => api.call('PUT', path, { json: { urls: wordsIn(urls.value) } })}
        done={reload}
      >
        <Field label={clusterWords.urls} class="id" required bind={urls} />
      </Confirm>
      <Confirm
        kind="small danger"
        title={clusterWords.remove}
        label={clusterWords.removeOf(name)}
        what={clusterWords.removeText}
        typed={name}
        saying={clusterWords.removing}
        work={() => api.call('DELETE', path)}
        done={reload}
      />
    </Row>
  )
}

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** Keeps the joiner kit until the view closes: the appliance returns it only once. */
function Add({ api, isAlone, reload }: { api: Api; isAlone: boolean; reload: () => void }) {
  const address = useSignal('')
  const kit = useSignal<T.MemberAdd | null>(null)
  const add = async () => {
    kit.value = await api.json<T.MemberAdd>('POST', '/cluster/members', { json: { urls: wordsIn(address.value) } })
  }
  const save = () => saveFile(new Blob([JSON.stringify(kit.value)]), 'coffer-joiner-kit.json')
  return (
    <Card title={clusterWords.add}>
      <p class="hint">{clusterWords.addText}</p>
      <Row>
        <Confirm
          kind=""
          title={clusterWords.add}
          what={isAlone ? clusterWords.addFirst : clusterWords.addNext}
          saying={clusterWords.adding}
          work={add}
          done={reload}
        >
          <Field label={clusterWords.address} hint={clusterWords.addressHint} class="id" required bind={address} />
        </Confirm>
      </Row>
      <div role="status">
        {kit.value !== null && (
          <div class="notice good">
            <p>{clusterWords.added}</p>
            <Row>
              <Action kind="primary" onClick={save}>
                {clusterWords.saveKit}
              </Action>
            </Row>
          </div>
        )}
      </div>
    </Card>
  )
}

function Join({ api }: { api: Api }) {
  const file = useSignal<File | null>(null)
  const passphrase = useRef<PassphraseHandle | null>(null)
  const join = async () => {
    if (file.value === null) throw new Error(words.chooseFile)
    const kit = readKit(await file.value.text())
    const backupPassphrase = passphrase.current?.read()
    if (typeof backupPassphrase !== 'string') throw new Error(words.passphraseMissing)
    await api.call('POST', '/cluster/join', { json: { ...kit, backupPassphrase } })
  }
  return (
    <Card title={clusterWords.join}>
      <p>{clusterWords.joinText}</p>
      <Row>
        <Confirm
          title={clusterWords.join}
          what={clusterWords.joinText}
          typed={clusterWords.joinTyped}
          saying={clusterWords.joining}
          work={join}
          done={refreshState}
        >
          <FileDrop label={clusterWords.joinKit} hint={clusterWords.joinKitHint} bind={file} />
          <Passphrase label={clusterWords.joinPassphrase} hold={passphrase} />
        </Confirm>
      </Row>
    </Card>
  )
}

/** Reads a saved answer of `POST /cluster/members`. Throws `Error` for any other text. */
function readKit(text: string): T.MemberAdd {
  try {
    const { members, joinerKit } = JSON.parse(text) as Partial<T.MemberAdd>
    if (Array.isArray(members) && typeof joinerKit === 'string') return { members, joinerKit }
  } catch {
    // Not JSON: the same error.
  }
  throw new Error(clusterWords.joinNoKit)
}

function Authority({ api }: { api: Api }) {
  const loaded = useLoad(async () => readCertificates(await authorityOf(api)), [])
  const file = useSignal<File | null>(null)
  const run = useRun()
  const submit = async () => {
    const isDone = await run.start(words.certificateInstalling, async () => {
      if (file.value === null) throw new Error(words.chooseFile)
      const body = await readPem(file.value)
      await api.call('PUT', '/cluster/tls/ca.pem', { body, type: 'application/x-pem-file' })
    })
    if (isDone) loaded.reload()
  }
  const facts = loaded.value.value
  return (
    <Card title={clusterWords.authority}>
      <p class="hint">{clusterWords.authorityText}</p>
      <Waiting of={loaded} />
      {facts !== null && (facts.length === 0 ? <p>{clusterWords.authorityNone}</p> : <CertificateList facts={facts} />)}
      <Form run={run} submit={submit} kind="" action={clusterWords.authorityInstall}>
        <FileDrop label={clusterWords.authorityFile} bind={file} />
      </Form>
    </Card>
  )
}

/** PEM of the authority; empty if none is installed. */
async function authorityOf(api: Api): Promise<string> {
  try {
    return await api.text('GET', '/cluster/tls/ca.pem')
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return ''
    throw error
  }
}
