/** Who may do what on the wire, for every declaration of it. firmware/kms/transit/CONTRACT.md, "Paths". */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TRANSIT_DECLARATIONS } from '../../../firmware/kms/transit/dialect.ts'
import { logIn, say, switchWire, wiredRig } from './rig.ts'

const CAPABILITY = { POST: 'update', GET: 'read', LIST: 'list', DELETE: 'delete' } as const

const READERS = /^(LIST|GET) \/v1\/(transit|sys)\/|^(GET|POST) \/v1\/auth\/token\/|capabilities-self/
const ADMINISTRATORS = /^(POST|DELETE) \/v1\/transit\/keys\//

/** Written here by hand, as in the contract. */
function rolesOf(name: string): string[] {
  if (ADMINISTRATORS.test(name)) return ['admin']
  return READERS.test(name) ? ['admin', 'web'] : ['web']
}

const DENIED = '1 error occurred:\n\t* permission denied\n\n'

test('an administrator makes keys and uses none, an operator the other way round, and nobody without a token does anything', async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  let asked = 0
  for (const { method, path, access } of TRANSIT_DECLARATIONS) {
    if (access === 'public') continue
    const target = path.replace('/v1/', '').replace(':kind', 'public-key').replace(/:\w+/g, 'x')
    const nobody = await say(rig, method, target, { body: method === 'POST' ? {} : undefined })
    assert.deepEqual([nobody.status, nobody.body], [403, { errors: ['permission denied'] }], `${method} ${path}`)
    for (const user of ['admin', 'web'] as const) {
      const token = await logIn(rig, user)
      const { body } = await say(rig, method, target, { token, body: method === 'POST' ? {} : undefined })
      const isDenied =
        body?.errors?.length === 1 && body.errors[0] === DENIED && path !== '/v1/sys/internal/ui/mounts/:mount'
      assert.equal(!isDenied, rolesOf(`${method} ${path}`).includes(user), `${user}: ${method} ${path}`)
      asked++
    }
  }
  assert.ok(asked >= 40, String(asked))
})

test('capabilities-self says of each path what the roles may do there', async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  for (const user of ['admin', 'web'] as const) {
    const token = await logIn(rig, user)
    for (const { method, path, access } of TRANSIT_DECLARATIONS) {
      if (access === 'public' || path.includes('/internal/')) continue
      const asked = path.replace('/v1/', '').replace(':kind', 'public-key').replace(/:\w+/g, 'x')
      const { body } = await say(rig, 'POST', 'sys/capabilities-self', { token, body: { path: asked } })
      const capability = CAPABILITY[method as keyof typeof CAPABILITY]
      const isAllowed = rolesOf(`${method} ${path}`).includes(user)
      assert.equal(
        body.capabilities.includes(capability),
        isAllowed,
        `${user}: ${method} ${asked} ${body.capabilities}`,
      )
    }
  }
})
