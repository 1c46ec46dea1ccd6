/** A namespace that makes keys without end, a request with two hosts, and an export of the audit log that two readers see differently. */

import { verifyExport } from '../../firmware/client/audit-verify.ts'
import { ADMIN, type Attack, OPERATOR, SIGN } from './target.ts'

const NAMESPACE = 'tenant'
const TENANT_ADMIN = `${NAMESPACE}~boss:passphrase of the tenant`
const QUOTA_KEYS = 20
const KEY = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }

const filledNamespace: Attack = {
  name: 'an administrator of a namespace generates keys without end, while the appliance signs',
  async run(target) {
    const boss = { realName: 'boss', role: 'Administrator', passphrase: 'passphrase of the tenant' }
    await target.call('PUT', `/users/${NAMESPACE}~boss`, { as: ADMIN, json: boss })
    await target.call('PUT', `/namespaces/${NAMESPACE}`, { as: ADMIN })
    const quota = { keys: QUOTA_KEYS, users: 5 }
    await target.call('PUT', `/namespaces/${NAMESPACE}/quota`, { as: ADMIN, json: quota })
    const generate = async (id: string) =>
      (await target.call('POST', '/keys/generate', { as: TENANT_ADMIN, json: { ...KEY, id } })).status
    const statuses: number[] = []
    let signed = 0
    for (let n = 0; n < 2 * QUOTA_KEYS; n++) {
      statuses.push(await generate(`key${n}`))
      if ((await target.call('POST', '/keys/ed/sign', { as: OPERATOR, json: SIGN })).status === 200) signed++
    }
    const made = statuses.filter((status) => status === 201).length
    const refused = statuses.slice(made).every((status) => status === 507)
    const deletion = await target.call('DELETE', '/keys/key0', { as: TENANT_ADMIN })
    const again = await generate('again')
    return {
      held: made === QUOTA_KEYS && refused && signed === statuses.length && deletion.status === 204 && again === 201,
      figures: `${made} of ${statuses.length} keys made with a quota of ${QUOTA_KEYS}, ${signed} of ${statuses.length} signatures, a deletion ${deletion.status}, then a key ${again}`,
    }
  },
}

const HOSTS_REFUSED = [
  'host: coffer\r\nhost: evil.example',
  'host: coffer\r\nHost: coffer',
  'host: coffer, evil.example',
  'x: y',
]

const twoHosts: Attack = {
  name: 'two Host headers, by strangers',
  async run(target) {
    const seen: string[] = []
    for (const hosts of HOSTS_REFUSED) seen.push(await statusOf(`GET /api/v1/info HTTP/1.1\r\n${hosts}\r\n\r\n`))
    const one = await statusOf('GET /api/v1/info HTTP/1.1\r\nhost: coffer\r\n\r\n')
    return { held: seen.every((status) => status === '400') && one === '200', figures: `${seen.join(' ')}, one ${one}` }

    async function statusOf(text: string): Promise<string> {
      const { socket, statuses } = await target.raw(2)
      const ended = new Promise<void>((resolve) => socket.once('close', resolve).once('data', () => resolve()))
      socket.write(text)
      await ended
      socket.destroy()
      return [...statuses.keys()].join('+') || 'cut off'
    }
  },
}

const doubledMember: Attack = {
  name: 'an export of the audit log is given a second user, which other readers see',
  async run(target) {
    const { bytes } = await target.call('GET', '/audit/export', { as: ADMIN })
    const problemsOf = async (text: string) => (await verifyExport(piecesOf(text))).problems.length
    const text = bytes.toString()
    const changed = text.replace(/\{"sequence"/, '{"user":"somebody","sequence"')
    const [before, after] = [await problemsOf(text), await problemsOf(changed)]
    return {
      held: changed !== text && before === 0 && after > 0,
      figures: `${before} problems in the export, ${after} in the changed one`,
    }
  },
}

async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

export const SUM_ATTACKS: readonly Attack[] = [twoHosts, filledNamespace, doubledMember]
