import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { makeOperationalRig, type Rig } from '../../support/in-process.ts'

let rig: Rig
before(async () => {
  rig = await makeOperationalRig()
  for (const [id, label, tag] of [
    ['a1', 'blue', ''],
    ['a2', '', 'red'],
    ['b1', 'blue', 'red'],
    ['b2', '', ''],
    ['b3', 'blue', ''],
    ['c', '', ''],
  ] as const) {
    await rig.key(id, { ...(label && { label }), ...(tag && { restrictions: { tags: [tag] } }) })
  }
})
after(() => rig.close())

interface Page {
  keys: { id: string }[]
  next?: string
}

const pageOf = async (path: string, as = 'admin'): Promise<Page> => {
  const answer = await rig.call('GET', `/keys${path}`, { as })
  assert.equal(answer.status, 200, answer.text())
  return answer.json()
}
const idsOf = ({ keys }: Page): string[] => keys.map(({ id }) => id)

test('shows of each key what the key itself shows, without asking for each', async () => {
  const page = await pageOf('?details=true')
  assert.deepEqual(idsOf(page), ['a1', 'a2', 'b1', 'b2', 'b3', 'c'])
  assert.equal(page.next, undefined)
  for (const { id, ...details } of page.keys)
    assert.deepEqual(details, { key: id, ...(await rig.call('GET', `/keys/${id}`, { as: 'admin' })).json() })
})

test('pages in any size join to the whole, also while keys come and go', async () => {
  for (const limit of [1, 2, 3, 5, 6, 7]) {
    const ids: string[] = []
    let after = ''
    for (let pages = 0; ; pages++) {
      assert.ok(pages <= 6)
      const page = await pageOf(`?details=true&limit=${limit}${after}`)
      ids.push(...idsOf(page))
      if (page.next === undefined) break
      after = `&after=${page.next}`
    }
    assert.deepEqual(ids, ['a1', 'a2', 'b1', 'b2', 'b3', 'c'], `limit ${limit}`)
  }
  await rig.key('b11')
  assert.deepEqual(idsOf(await pageOf('?details=true&after=b11&limit=2')), ['b2', 'b3'])
  assert.equal(await rig.status('DELETE', '/keys/b11', { as: 'admin' }), 204)
  assert.deepEqual(idsOf(await pageOf('?details=true&after=b11&limit=2')), ['b2', 'b3'])
  assert.deepEqual(idsOf(await pageOf('?details=true&after=z')), [])
})

test('goes with every way to choose keys', async () => {
  assert.deepEqual(idsOf(await pageOf('/b*?details=true')), ['b1', 'b2', 'b3'])
  assert.deepEqual(idsOf(await pageOf('/b*?details=true&limit=1&after=b1')), ['b2'])
  assert.deepEqual(idsOf(await pageOf('/b*?details=true&after=a1')), ['b1', 'b2', 'b3'])
  assert.deepEqual(idsOf(await pageOf('/b*?details=true&after=c')), [])
  assert.deepEqual(await pageOf('/b*?details=true&limit=3').then(({ next }) => next), undefined)
  const blue = await pageOf('?details=true&label=blue&limit=2')
  assert.deepEqual([idsOf(blue), blue.next], [['a1', 'b1'], 'b1'])
  assert.deepEqual(idsOf(await pageOf('?details=true&label=blue&limit=2&after=b1')), ['b3'])
  assert.deepEqual(idsOf(await pageOf('?details=true&filter', 'operator')), ['a1', 'b2', 'b3', 'c'])
  assert.deepEqual(idsOf(await pageOf('?details=true&filter')), ['a1', 'a2', 'b1', 'b2', 'b3', 'c'])
})

test('has no etag, which would not tell that a key was used', async () => {
  const { headers } = await rig.call('GET', '/keys?details=true', { as: 'admin' })
  assert.equal(headers.etag, undefined)
  assert.notEqual((await rig.call('GET', '/keys?details=false', { as: 'admin' })).headers.etag, undefined)
})

test('what is no page is 400', async () => {
  for (const query of [
    'details=1',
    'details',
    'details=true&limit=0',
    'details=true&limit=1001',
    'details=true&limit=-1',
    'details=true&limit=',
    'details=true&after=',
    'details=true&after=a/b',
    'limit=5',
    'after=a1',
    'details=false&limit=5',
  ]) {
    assert.equal(await rig.status('GET', `/keys?${query}`, { as: 'admin' }), 400, query)
    assert.equal(await rig.status('GET', `/keys/b*?${query}`, { as: 'admin' }), 400, query)
  }
})

test('a page opens the records of its own keys and no others, and ends although few keys are wanted', async () => {
  const { appliance } = rig
  const { keys } = appliance.open()
  let opened = 0
  const publicKey = keys.publicKey.bind(keys)
  keys.publicKey = (...parameters) => {
    opened++
    return publicKey(...parameters)
  }
  try {
    await pageOf('?details=true&limit=2')
    assert.equal(opened, 2)
    await pageOf('?details=true&label=blue&limit=2')
    assert.equal(opened, 4)
  } finally {
    keys.publicKey = publicKey
  }
})
