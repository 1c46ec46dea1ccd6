/** The cluster's authority under the paths of both generations of clients: contract section 3.6. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operationalRig, type Rig } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'
import { Workshop } from './authority.ts'

await fileNeeds('openssl')

const OLD = '/config/tls/cluster-ca.pem'
const NEW = '/cluster/tls/ca.pem'
const PEM = { 'content-type': 'application/x-pem-file' }

let workshop: Workshop
before(() => {
  workshop = new Workshop()
})
after(() => workshop.remove())

const put = (rig: Rig, path: string, body: string) => rig.call('PUT', path, { as: 'admin', body, headers: PEM })

for (const [path, other] of [
  [OLD, NEW],
  [NEW, OLD],
] as const)
  test(`an authority that is set at ${path} is read at ${other}`, async (t) => {
    const rig = await operationalRig(t)
    const root = workshop.root(`root of ${path.split('/')[1]}`)
    for (const either of [path, other]) {
      assert.equal(await rig.status('GET', either, { as: 'admin' }), 404)
      assert.equal((await put(rig, either, 'x')).status, 400)
      assert.equal((await put(rig, either, root.pem)).status, 412)
      assert.equal(await rig.status('DELETE', either, { as: 'admin' }), 405)
    }
    const json = { commonName: 'box.example' }
    const csr = (await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json })).text()
    const { pem } = workshop.issue({ name: `box of ${path.split('/')[1]}`, csr, issuer: root })
    assert.equal((await put(rig, '/config/tls/cert.pem', pem)).status, 201)
    const set = await put(rig, path, root.pem)
    assert.deepEqual([set.status, set.headers.location], [201, `/api/v1${path}`])
    for (const either of [path, other])
      assert.equal((await rig.call('GET', either, { as: 'admin' })).text(), root.pem, either)
  })
