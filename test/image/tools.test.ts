/** The build reports missing tools before anything is fetched. Needs no machine. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireTools } from '../../image/tools.ts'

test('every program that is missing is named, with the words that install it', (t) => {
  const path = process.env.PATH
  t.after(() => {
    process.env.PATH = path
  })
  process.env.PATH = '/nonexistent'
  // Administrators' programs are looked for beside the path; those of users must be on it.
  assert.throws(
    () => requireTools(true),
    /^Error: An image is made with apt-get, .*sbsign, not found here\. On Debian: sudo apt install apt dpkg .*sbsigntool$/,
  )
})
