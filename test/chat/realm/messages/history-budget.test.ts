/** The work of `GET /messages/{id}/history`, counted in cells of the differences: contract rows E14 and section 9. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { historySteps } from '../../../../firmware/chat/realm/messages/history.ts'
import { chatSuite } from '../../support/suite.ts'

const CELLS_MAX = 1_000_000 // contract section 9
const EDITS = 40

const { rig, hamlet: me } = await chatSuite({ hamlet: 'member' })

/** 480 words of which none is in the text before or after it: 959 tokens. */
const text = (edit: number): string => Array.from({ length: 480 }, (_, word) => `w${edit}x${word}`).join(' ')

const edited = async (edits: number, content = text): Promise<number> => {
  const { id } = await me.post('/messages', { type: 'direct', to: [me.user.id], content: content(0) })
  for (let edit = 1; edit <= edits; edit++) await me.patch(`/messages/${id}`, { content: content(edit) })
  return id
}

const stepsOf = (id: number): { cells: number[]; entries: Record<string, unknown>[] } => {
  const { realm } = rig.chat
  const entries: Record<string, unknown>[] = []
  const cells = [...historySteps(realm, realm.store.messages.get(id)!, false, entries)]
  return { cells, entries }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

describe('the history of a message that was edited often and completely', () => {
  let id: number
  before(async () => {
    id = await edited(EDITS)
  })

  it('computes no more cells than one budget, a row of the table at a time', () => {
    const { cells } = stepsOf(id)
    assert.ok(sum(cells) <= CELLS_MAX, `${sum(cells)} cells`)
    assert.ok(sum(cells) > CELLS_MAX / 4, 'the budget is spent, not saved')
    for (const row of cells) assert.ok(row <= 1000, `${row} cells in one step`)
  })

  it('still has every edit with a difference, the newest word by word', async () => {
    const { message_history: history } = await me.get(`/messages/${id}/history`)
    assert.equal(history.length, EDITS + 1)
    for (const [edit, { content, content_html_diff: diff }] of history.entries()) {
      assert.equal(content, text(edit))
      if (edit === 0) continue
      assert.ok(diff.includes(`w${edit}x0`) && diff.includes(`w${edit - 1}x0`), `edit ${edit}`)
    }
    const spans = ({ content_html_diff: diff }: { content_html_diff: string }) => diff.split('<span').length - 1
    assert.equal(spans(history[1]), 2, 'one text out, one text in')
    assert.ok(spans(history.at(-1)) > 2)
  })
})

it('the history of a message with many small edits has each difference word by word', async () => {
  const small = (edit: number) => `same words before ${edit} and same words after`
  const { message_history: history } = await me.get(`/messages/${await edited(300, small)}/history`)
  for (const [edit, { content_html_diff: diff }] of history.entries())
    if (edit > 0)
      assert.equal(
        diff,
        `<p>same words before <span class="highlight_text_deleted">${edit - 1}</span><span class="highlight_text_inserted">${edit}</span> and same words after</p>`,
      )
})
