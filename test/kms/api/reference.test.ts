/**
 * The API description, held against that of NetHSM 5.0 operation by operation. Contract section 5.2 lists the differences: each
 * belongs to one of its rows, and each row has as many operations as it says.
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { DECLARATIONS } from '../../../firmware/app.ts'
import { type OpenApiOperation, openApiDocument } from '../../../firmware/kms/documents/openapi.ts'
import { type Difference, differencesOf, readDescription } from './reference.ts'

const root = join(import.meta.dirname, '../../..')
const REFERENCE = join(root, '.nethsm/nethsm-api.yaml')
/** In CI, too: it comes from a registry that need not be reached. */
const skip = !existsSync(REFERENCE) && 'to run this: cargo, then .ci/nethsm-description'
const OPERATIONS = 78

const ours = readDescription(
  JSON.parse(JSON.stringify(openApiDocument(DECLARATIONS, { title: 'x', version: '1', vendor: 'v' }, '/api/v1'))),
  (operation: OpenApiOperation) => ({
    roles: [...operation['x-roles'], ...(operation['x-public-in'] === undefined ? [] : ['Public'])],
    states: operation['x-states'],
    scopes: operation['x-scope'] === 'root' ? ['Root'] : ['Root', 'Namespaced'],
  }),
)

const readReference = () =>
  readDescription(parse(readFileSync(REFERENCE, 'utf8')), (operation: Record<string, string[] | undefined>) => ({
    roles: operation['x-annotation-role'] ?? [],
    states: operation['x-annotation-state'] ?? [],
    scopes: operation['x-annotation-caller-namespace'] ?? [],
  }))

interface Judged extends Difference {
  /** `required`, `status` and the like. */
  kind: string
  isAdded: boolean
  isGone: boolean
  /** More values, types, parameters or media types than those of the reference. */
  isWider: boolean
}
type Claim = (difference: Judged) => boolean

const FORCE_NEW = 'POST /cluster/force-new'
const RESTORE = 'POST /system/restore'
const ROOT_ONLY = ['GET /health/diagnose', RESTORE]
const LEFT_OUT = /^status (400|404|406|409|412)$/
const GENERAL = /^status (304|413|415|429|500|503|507)$/
const CREDENTIALS = /^status (401|403)$/
const PRESENCE = ['required', 'type', 'text', 'enum', 'range', 'count', 'strict']
/** Aliases, and the two forms of a backup passphrase: one of two is needed. */
const ONE_OF_TWO = /^request\.(type|private|newPassphrase|currentPassphrase) required$/
const ELSEWISE =
  /\.label\.length |\.(akPub|pcr)\.|\.clusterSnapshot[. ]|^request\.arguments|\.restrictions\.tags(\[\])? (type|text)|^(request\.backup_file|answer\.clusterLogs\[\]\.msg) required/

/** In the order of the contract's table: the first row that claims a difference has it. */
const CLAIMS: readonly Claim[] = [
  ({ at, isGone }) => isGone && at === 'status 406',
  ({ at, isGone }) => isGone && at === 'status 415',
  ({ at, isGone }) => isGone && at === 'status 409',
  ({ at, isAdded }) => isAdded && LEFT_OUT.test(at),
  ({ at, isAdded, operation }) => isAdded && (GENERAL.test(at) || (operation === RESTORE && CREDENTIALS.test(at))),
  ({ operation, kind }) => operation === FORCE_NEW && ['role', 'state', 'scope'].includes(kind),
  ({ operation, kind }) => ROOT_ONLY.includes(operation) && ['role', 'scope'].includes(kind),
  ({ at, operation }) => at === 'role Public' && /reboot|factory-reset/.test(operation),
  ({ at, operation }) => at === 'scope Root' && operation === 'PUT /config/tls/cert.pem',
  (difference) => isOfAddition(difference) || difference.isWider || ONE_OF_TWO.test(difference.at),
  ({ at }) => ELSEWISE.test(at),
  ({ kind, isAdded }) => isAdded && kind === 'strict',
  ({ kind }) => ['text', 'range', 'count'].includes(kind),
]

let added = new Set<string>()

function isOfAddition({ at, operation }: Difference): boolean {
  const [place = '', kind = ''] = at.split(' ')
  if (!PRESENCE.includes(kind)) return false
  for (let end = place.length; end > 0; end = place.slice(0, end).search(/(\.\w+|\[\])$/))
    if (added.has(`${operation} ${place.slice(0, end)}`)) return true
  return false
}

function judge(difference: Difference): Judged {
  const { at, was, is } = difference
  const kind = /^(role|state|scope|query|status|(request|answer) type) ./.exec(at)?.[1] ?? at.split(' ').at(-1)!
  const [isAdded, isGone] = [was === undefined, is === undefined]
  const isNewName = isAdded && /^(query|(request|answer) type|enum)$/.test(kind)
  const hasMore =
    (kind === 'enum' || kind === 'type') && was?.split(' ').every((value) => is?.split(' ').includes(value))
  return { ...difference, kind, isAdded, isGone, isWider: isNewName || hasMore === true }
}

test('the reference’s operations are all offered', { skip }, () => {
  const reference = readReference()
  assert.equal(reference.operations.size, OPERATIONS)
  for (const operation of reference.operations.keys()) assert.ok(ours.operations.has(operation), operation)
})

test('every difference is in one row of the contract, and every row has as many operations as it says', {
  skip,
}, () => {
  const differences = differencesOf(readReference(), ours).map(judge)
  added = new Set(
    differences
      .filter(({ at, isAdded }) => isAdded && / required$/.test(at))
      .map(({ at, operation }) => `${operation} ${at.split(' ')[0]}`),
  )
  const operations = CLAIMS.map(() => new Set<string>())
  for (const difference of differences) {
    const row = CLAIMS.findIndex((claims) => claims(difference))
    assert.notEqual(row, -1, `in no row: ${JSON.stringify(difference)}`)
    operations[row]!.add(difference.operation)
  }
  assert.deepEqual(
    operations.map(({ size }) => size),
    tableOfContract(),
  )
})

function tableOfContract(): number[] {
  const contract = readFileSync(join(root, 'firmware/kms/CONTRACT.md'), 'utf8')
  const section = contract.slice(contract.indexOf('### 5.2 '), contract.indexOf('## 6. '))
  return [...section.matchAll(/^\| [^|]+ \| (\d+) \|/gm)].map(([, count]) => Number(count))
}
