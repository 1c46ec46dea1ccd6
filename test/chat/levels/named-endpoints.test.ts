/** A level change names an endpoint that exists, or the chat does not start. Contract section 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LEVEL_CHANGES } from '../../../firmware/chat/levels/changes.ts'
import {
  type LevelChange,
  levelChange,
  type Rule,
  redirectEndpoint,
  removeEndpoints,
  removeFields,
  removeParameters,
  renameErrorCode,
} from '../../../firmware/chat/levels/rules.ts'
import { openTestChat } from '../support/chat.ts'

const NAME = 'PATCH /reams'
const RULES: Record<string, Rule> = {
  'an answer': removeFields(['name'], [{ answer: NAME }]),
  'a request': removeParameters(['name'], 'PATCH /realm', NAME),
  'a removed endpoint': removeEndpoints(NAME),
  'an endpoint that sends elsewhere': redirectEndpoint(NAME, 'id', 'PATCH /realm'),
  'an endpoint that is sent to': redirectEndpoint('PATCH /realm', 'id', NAME),
  'an error code': renameErrorCode('NOT_FOUND', 'BAD_REQUEST', NAME),
}

for (const [what, rule] of Object.entries(RULES))
  test(`the chat does not start with ${what} that no endpoint has`, async () => {
    const changes = LEVEL_CHANGES as LevelChange[]
    changes.push(levelChange(101, rule))
    try {
      await assert.rejects(openTestChat(), { message: `Level 101 changes an endpoint that does not exist: ${NAME}` })
    } finally {
      changes.pop()
    }
  })

test('the chat starts with a change of an endpoint that exists', async () => {
  const changes = LEVEL_CHANGES as LevelChange[]
  changes.push(levelChange(101, removeEndpoints('PATCH /realm')))
  try {
    await (await openTestChat()).close()
  } finally {
    changes.pop()
  }
})
