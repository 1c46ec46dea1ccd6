/** Versions of a key: shown, added, retired and deleted. Contract section 7.11. */

import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { ApiError, segment } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api, Tagged } from '../api.ts'
import { time } from '../format.ts'
import { Card, Row } from '../parts/frame.tsx'
import { Confirm, Form } from '../parts/loading.tsx'
import { go } from '../routes.ts'
import * as versionWords from '../version-words.ts'
import * as words from '../words.ts'

interface Props {
  /** Undefined for accounts that cannot change keys. */
  admin: Api | undefined
  id: string
  versions: Tagged<T.KeyVersions>
  reload: () => void
}

export function Versions({ admin, id, versions: shown, reload }: Props) {
  const versions = shown.value
  return (
    <Card title={versionWords.versions}>
      <p class="hint">{versionWords.text}</p>
      <ul>
        {versions.versions.toReversed().map(({ version, created }) => (
          <li key={version}>
            {versionWords.version(version)} ({time(created)}): {useOf(versions, version)}
          </li>
        ))}
      </ul>
      {admin && <Change api={admin} id={id} versions={shown} reload={reload} />}
    </Card>
  )
}

function useOf({ minDecryption, minEncryption, latest }: T.KeyVersions, version: number): string {
  if (version < minDecryption) return versionWords.retired
  if (version < minEncryption) return versionWords.open
  return version === latest ? versionWords.newest : versionWords.usable
}

/**
 * Undefined if it stays: 0 follows `minDecryption` by itself, and a limit as high as that follows it here. A higher one was set apart, and
 * lowering `minDecryption` must not allow more versions to encrypt and sign.
 */
function encryptionAfter({ minDecryption, minEncryption }: T.KeyVersions, version: number): number | undefined {
  if (minEncryption === 0) return undefined
  const after = minEncryption === minDecryption ? version : Math.max(minEncryption, version)
  return after === minEncryption ? undefined : after
}

const isChanged = (error: unknown): boolean => error instanceof ApiError && error.status === 412

function Change({ api, id, versions: { value: versions, etag }, reload }: Omit<Props, 'admin'> & { api: Api }) {
  const path = `/keys/${segment(id)}/versions`
  const { minDecryption, minEncryption } = versions
  const lowest = useSignal(String(minDecryption))
  useLayoutEffect(() => {
    lowest.value = String(minDecryption)
  }, [etag])
  const run = useRun()
  const isVersion = /^[1-9]\d{0,8}$/.test(lowest.value)
  const limit = (json: Partial<T.KeyVersionLimits>) =>
    api.call('PUT', path, { json, etag }).catch((error) => {
      if (isChanged(error)) reload()
      throw error
    })
  const save = async () => {
    if (!isVersion) return
    const version = Number(lowest.value)
    const after = encryptionAfter(versions, version)
    const json = { minDecryption: version, ...(after !== undefined && { minEncryption: after }) }
    if (await run.start(words.saving, () => limit(json))) reload()
  }
  /** The API wants a limit of encryption, too, before it deletes. If the answer was lost, a repeat gets 412 though all is done. */
  const deleteRetired = () =>
    api
      .call('PUT', path, {
        json: { minAvailable: minDecryption, minEncryption: Math.max(minEncryption, minDecryption) },
        etag,
      })
      .catch(async (error) => {
        if (!isChanged(error)) throw error
        const { minAvailable } = await api.get<T.KeyVersions>(path)
        if (minAvailable >= minDecryption) return
        reload()
        throw error
      })
  return (
    <>
      <Row>
        <Confirm
          kind=""
          title={versionWords.add}
          what={versionWords.addText}
          saying={versionWords.adding}
          work={() => api.call('POST', path)}
          done={reload}
        />
        {minDecryption > 1 && (
          <Confirm
            title={versionWords.deleteRetired}
            what={versionWords.deleteText(minDecryption - 1)}
            typed={id}
            saying={words.deleting}
            work={deleteRetired}
            done={() => go('keys')}
          />
        )}
      </Row>
      <Form run={run} submit={save} kind="" action={versionWords.retire}>
        <Field label={versionWords.lowest} bind={lowest} error={isVersion ? undefined : versionWords.badNumber} />
      </Form>
    </>
  )
}
