/** Which account and key a header names: contract section 1.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCredentials } from '../../../firmware/chat/pipeline/credentials.ts'

const KEY = 'abcdefghijklmnopqrstuvwxyzABCDEF'

for (const email of ['iago@example.com', 'bot@chat.example:8443', 'ü@example.com', ''])
  test(`a key of ${email === '' ? 'no address' : email}`, () => {
    for (const padding of ['base64', 'base64 without padding']) {
      const encoded = Buffer.from(`${email}:${KEY}`).toString('base64')
      const text = padding === 'base64' ? encoded : encoded.replace(/=+$/, '')
      const credentials = readCredentials(`Basic ${text}`)
      const key = credentials?.withSecret((bytes) => Buffer.from(bytes).toString())
      assert.deepEqual([credentials?.user, key], [email, KEY], padding)
    }
  })
